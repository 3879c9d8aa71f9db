#include "kernels.hpp"

namespace tilefold {
namespace {

using Names = std::vector<const char*>;

Names operator+(Names left, const Names& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::vector<KernelInfo> makeTable() {
  const Names window{"batch",        "inChannels",  "inHeight",     "inWidth",     "outHeight",      "outWidth",
                     "kernelHeight", "kernelWidth", "strideHeight", "strideWidth", "dilationHeight", "dilationWidth",
                     "padTop",       "padBottom",   "padLeft",      "padRight"};
  const Names convolution = window + Names{"outChannels", "groups", "sourceLayout", "destinationLayout", "weightLayout", "algorithm"};
  const Names tile{"batch", "channels", "height", "width", "layout"};
  const Names strided = tile + Names{"strideBatch", "strideChannel", "strideHeight"};
  const Names groupedTile = tile + Names{"groups", "perImage"};
  const Names normalised = groupedTile + Names{"epsilon", "slope"};
  const Names activation = tile + Names{"function"};
  const Names resampled{"batch",  "channels",     "inHeight",    "inWidth",       "outHeight",   "outWidth",
                        "layout", "fullInHeight", "fullInWidth", "fullOutHeight", "fullOutWidth"};
  const Names resized = resampled + Names{"bilinear", "alignCorners"};
  const Names pixelCrossEntropy = tile + Names{"fullHeight", "fullWidth", "ignored"};
  const Names linear{"batch", "inFeatures", "outFeatures"};
  const Names averagePool = window + Names{"layout", "overhangBottom", "overhangRight", "countPadding"};
  const Names crossEntropy{"batch", "classes", "fullBatch"};
  const Names optimizer{"count", "rate", "weightDecay"};
  const auto read = Use::read, write = Use::write, accumulate = Use::accumulate, scratch = Use::scratch, index = Use::index;
  using Operands = std::vector<OperandInfo>;
  const auto resampledAt = [&](Operands operands) {
    for (const char* name : {"sourceRow", "sourceColumn", "destinationRow", "destinationColumn"}) operands.push_back({name, index});
    return operands;
  };
  return {
      {"convolutionForward",
       convolution + Names{"slope"},
       {{"source", read}, {"weights", read}, {"bias", read}, {"destination", write}, {"scratch", scratch}}},
      {"convolutionBackwardData",
       convolution,
       {{"destinationGradient", read}, {"weights", read}, {"sourceGradient", write}, {"scratch", scratch}}},
      {"convolutionBackwardWeights",
       convolution,
       {{"source", read}, {"destinationGradient", read}, {"weightGradient", write}, {"biasGradient", write}, {"scratch", scratch}}},
      {"reorderWeights",
       {"outChannels", "inChannels", "kernelHeight", "kernelWidth", "groups", "sourceLayout", "destinationLayout"},
       {{"source", read}, {"destination", write}}},
      {"reorderActivation",
       {"batch", "channels", "height", "width", "sourceLayout", "destinationLayout"},
       {{"source", read}, {"destination", write}}},
      {"rectifierForward", {"count", "slope"}, {{"source", read}, {"destination", write}}},
      {"rectifierBackward", {"count", "slope"}, {{"destination", read}, {"destinationGradient", read}, {"sourceGradient", write}}},
      {"maxPoolForward", window + Names{"layout"}, {{"source", read}, {"destination", write}, {"winners", write}}},
      {"maxPoolBackward", window + Names{"layout"}, {{"destinationGradient", read}, {"winners", read}, {"sourceGradient", write}}},
      {"averagePoolForward", averagePool, {{"source", read}, {"destination", write}}},
      {"averagePoolBackward", averagePool, {{"destinationGradient", read}, {"sourceGradient", write}}},
      {"sumPixelsForward", tile + Names{"scale"}, {{"source", read}, {"sum", accumulate}}},
      {"sumPixelsBackward", tile + Names{"scale"}, {{"sumGradient", read}, {"sourceGradient", write}}},
      {"linearForward", linear, {{"source", read}, {"weights", read}, {"bias", read}, {"destination", write}}},
      {"linearBackwardData", linear, {{"destinationGradient", read}, {"weights", read}, {"sourceGradient", write}}},
      {"linearBackwardWeights",
       linear,
       {{"source", read}, {"destinationGradient", read}, {"weightGradient", write}, {"biasGradient", write}}},
      {"dropout",
       tile + Names{"fullChannels", "fullHeight", "fullWidth", "layerKey", "rate"},
       {{"source", read}, {"destination", write}, {"batchOrigin", index}, {"rowOrigin", index}, {"columnOrigin", index}}},
      {"softmaxCrossEntropyForward", crossEntropy, {{"source", read}, {"labels", read}, {"rowWeights", read}, {"loss", accumulate}}},
      {"softmaxCrossEntropyBackward", crossEntropy, {{"source", read}, {"labels", read}, {"rowWeights", read}, {"sourceGradient", write}}},
      {"meanSquaredErrorForward", strided + Names{"count"}, {{"source", read}, {"target", read}, {"loss", accumulate}}},
      {"meanSquaredErrorBackward", strided + Names{"count"}, {{"source", read}, {"target", read}, {"sourceGradient", write}}},
      {"momentsForward", groupedTile, {{"source", read}, {"moments", accumulate}}},
      {"momentsOfRunning", {"channels"}, {{"mean", read}, {"variance", read}, {"moments", write}}},
      {"updateRunning", {"channels", "momentum"}, {{"moments", read}, {"mean", accumulate}, {"variance", accumulate}}},
      {"normaliseForward", normalised, {{"source", read}, {"moments", read}, {"weights", read}, {"bias", read}, {"destination", write}}},
      {"normaliseSums",
       normalised,
       {{"source", read}, {"moments", read}, {"weights", read}, {"bias", read}, {"destinationGradient", read}, {"sums", accumulate}}},
      {"normaliseParameters", {"images", "channels"}, {{"sums", read}, {"weightGradient", write}, {"biasGradient", write}}},
      {"normaliseBackward",
       normalised + Names{"add"},
       {{"source", read},
        {"moments", read},
        {"weights", read},
        {"bias", read},
        {"sums", read},
        {"destinationGradient", read},
        {"sourceGradient", accumulate}}},
      {"addForward", {"count", "slope"}, {{"first", read}, {"second", read}, {"destination", write}}},
      {"copyChannels",
       {"batch", "height", "width", "count", "sourceChannels", "sourceFirst", "sourceLayout", "destinationChannels", "destinationFirst",
        "destinationLayout", "add"},
       {{"source", read}, {"destination", accumulate}}},
      {"activationForward", activation, {{"source", read}, {"destination", write}}},
      {"activationBackward", activation, {{"kept", read}, {"destinationGradient", read}, {"sourceGradient", write}}},
      {"resizeForward", resized, resampledAt({{"source", read}, {"destination", write}})},
      {"resizeBackward", resized, resampledAt({{"destinationGradient", read}, {"sourceGradient", write}})},
      {"adaptivePoolForward", resampled, resampledAt({{"source", read}, {"destination", write}})},
      {"adaptivePoolBackward", resampled, resampledAt({{"destinationGradient", read}, {"sourceGradient", write}})},
      {"addBias", tile, {{"bias", read}, {"destination", accumulate}}},
      {"sumBias", tile, {{"destinationGradient", read}, {"biasGradient", write}}},
      {"pixelCrossEntropyForward",
       pixelCrossEntropy,
       {{"source", read}, {"labels", read}, {"classWeights", read}, {"normaliser", read}, {"loss", accumulate}}},
      {"pixelCrossEntropyBackward",
       pixelCrossEntropy,
       {{"source", read}, {"labels", read}, {"classWeights", read}, {"normaliser", read}, {"sourceGradient", write}}},
      {"classesOfPixels", tile + Names{"fullHeight", "fullWidth"}, {{"source", read}, {"classes", write}}},
      {"copyBox",
       {"n0", "n1", "n2", "n3", "sourceStride0", "sourceStride1", "sourceStride2", "destinationStride0", "destinationStride1",
        "destinationStride2", "add", "ofParameters"},
       {{"source", read}, {"destination", accumulate}}},
      {"gather", strided, {{"source", read}, {"destination", write}}},
      {"scatterAdd", strided, {{"source", read}, {"destination", accumulate}}},
      {"zero", {"bytes"}, {{"destination", write}}},
      {"loadImage",
       tile + Names{"fullHeight", "fullWidth", "mean0", "mean1", "mean2", "mean3", "deviation0", "deviation1", "deviation2", "deviation3"},
       {{"destination", write}, {"batchOrigin", index}, {"rowOrigin", index}, {"columnOrigin", index}}},
      {"sgd", optimizer + Names{"momentum"}, {{"weights", accumulate}, {"gradient", read}, {"velocity", accumulate}}},
      {"adam",
       optimizer + Names{"beta1", "beta2", "epsilon", "decoupled"},
       {{"weights", accumulate}, {"gradient", read}, {"firstMoment", accumulate}, {"secondMoment", accumulate}}},
      {"sumSquares", {"count"}, {{"source", read}, {"sum", accumulate}}},
      {"clipGradient", {"count", "maxNorm"}, {{"sumSquares", read}, {"gradient", accumulate}}},
      {"squareRoot", {"count"}, {{"source", read}, {"destination", write}}},
      {"roundWeights", {"count"}, {{"source", read}, {"destination", write}}},
  };
}

}  // namespace

const std::vector<KernelInfo>& kernelTable() {
  static const std::vector<KernelInfo> table = makeTable();
  return table;
}

}  // namespace tilefold
