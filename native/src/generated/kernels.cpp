// Written by "npm run generate" from staging/kernels and dsl/expression.
#include "../kernels/field_reader.hpp"
#include "../kernels/kernels.hpp"

namespace tilefold {

const std::vector<KernelInfo>& kernelTable() {
  static const std::vector<KernelInfo> table{
      {"convolutionForward",
       {"batch", "inChannels", "inHeight", "inWidth", "outHeight", "outWidth", "kernelHeight", "kernelWidth", "strideHeight", "strideWidth", "dilationHeight", "dilationWidth", "padTop", "padBottom", "padLeft", "padRight", "outChannels", "groups", "sourceLayout", "destinationLayout", "weightLayout", "algorithm", "slope"},
       false,
       {{"source", Use::read, false, false},
        {"weights", Use::read, false, false},
        {"bias", Use::read, true, false},
        {"destination", Use::write, false, false},
        {"scratch", Use::scratch, true, false}}},
      {"convolutionBackwardData",
       {"batch", "inChannels", "inHeight", "inWidth", "outHeight", "outWidth", "kernelHeight", "kernelWidth", "strideHeight", "strideWidth", "dilationHeight", "dilationWidth", "padTop", "padBottom", "padLeft", "padRight", "outChannels", "groups", "sourceLayout", "destinationLayout", "weightLayout", "algorithm"},
       false,
       {{"destinationGradient", Use::read, false, false},
        {"weights", Use::read, false, false},
        {"sourceGradient", Use::write, false, false},
        {"scratch", Use::scratch, true, false}}},
      {"convolutionBackwardWeights",
       {"batch", "inChannels", "inHeight", "inWidth", "outHeight", "outWidth", "kernelHeight", "kernelWidth", "strideHeight", "strideWidth", "dilationHeight", "dilationWidth", "padTop", "padBottom", "padLeft", "padRight", "outChannels", "groups", "sourceLayout", "destinationLayout", "weightLayout", "algorithm"},
       false,
       {{"source", Use::read, false, false},
        {"destinationGradient", Use::read, false, false},
        {"weightGradient", Use::write, false, false},
        {"biasGradient", Use::write, true, false},
        {"scratch", Use::scratch, true, false}}},
      {"reorderWeights",
       {"outChannels", "inChannels", "kernelHeight", "kernelWidth", "groups", "sourceLayout", "destinationLayout"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"sliceWeights",
       {"outChannels", "inChannels", "kernelHeight", "kernelWidth", "groups", "sourceLayout", "destinationLayout", "sourceOutChannels", "sourceInChannels", "firstOut", "firstIn"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"castWeights",
       {"outChannels", "inChannels", "kernelHeight", "kernelWidth", "groups", "sourceLayout", "destinationLayout"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"addBias",
       {"batch", "channels", "height", "width", "layout"},
       false,
       {{"bias", Use::read, false, false},
        {"destination", Use::accumulate, false, false}}},
      {"sumBias",
       {"batch", "channels", "height", "width", "layout"},
       false,
       {{"destinationGradient", Use::read, false, false},
        {"biasGradient", Use::write, false, false}}},
      {"linearForward",
       {"batch", "inFeatures", "outFeatures"},
       false,
       {{"source", Use::read, false, false},
        {"weights", Use::read, false, false},
        {"bias", Use::read, true, false},
        {"destination", Use::write, false, false}}},
      {"linearBackwardData",
       {"batch", "inFeatures", "outFeatures"},
       false,
       {{"destinationGradient", Use::read, false, false},
        {"weights", Use::read, false, false},
        {"sourceGradient", Use::write, false, false}}},
      {"linearBackwardWeights",
       {"batch", "inFeatures", "outFeatures"},
       false,
       {{"source", Use::read, false, false},
        {"destinationGradient", Use::read, false, false},
        {"weightGradient", Use::write, false, false},
        {"biasGradient", Use::write, true, false}}},
      {"rectifierForward",
       {"count", "slope"},
       false,
       {{"source", Use::read, false, true},
        {"destination", Use::write, false, false}}},
      {"rectifierBackward",
       {"count", "slope"},
       false,
       {{"destination", Use::read, false, false},
        {"destinationGradient", Use::read, false, true},
        {"sourceGradient", Use::write, false, false}}},
      {"addForward",
       {"count", "slope"},
       false,
       {{"first", Use::read, false, true},
        {"second", Use::read, false, true},
        {"destination", Use::write, false, false}}},
      {"dropout",
       {"batch", "channels", "height", "width", "layout", "fullChannels", "fullHeight", "fullWidth", "layerKey", "rate"},
       false,
       {{"source", Use::read, false, true},
        {"destination", Use::write, false, false},
        {"batchOrigin", Use::index, false, false},
        {"rowOrigin", Use::index, false, false},
        {"columnOrigin", Use::index, false, false}}},
      {"pointwiseForward",
       {"batch", "channels", "height", "width", "layout", "broadcast", "weightPerChannel", "biasPerChannel", "expression"},
       true,
       {{"source", Use::read, false, true},
        {"second", Use::read, true, false},
        {"weight", Use::read, true, false},
        {"bias", Use::read, true, false},
        {"destination", Use::write, false, false}}},
      {"pointwiseBackward",
       {"batch", "channels", "height", "width", "layout", "broadcast", "weightPerChannel", "biasPerChannel", "expression"},
       true,
       {{"kept", Use::read, true, false},
        {"second", Use::read, true, false},
        {"weight", Use::read, true, false},
        {"bias", Use::read, true, false},
        {"destinationGradient", Use::read, false, true},
        {"sourceGradient", Use::write, false, false}}},
      {"pointwiseSum",
       {"batch", "channels", "height", "width", "layout", "broadcast", "weightPerChannel", "biasPerChannel", "rows", "expression"},
       true,
       {{"kept", Use::read, true, false},
        {"second", Use::read, true, false},
        {"weight", Use::read, true, false},
        {"bias", Use::read, true, false},
        {"destinationGradient", Use::read, false, false},
        {"sum", Use::write, false, false}}},
      {"maxPoolForward",
       {"batch", "inChannels", "inHeight", "inWidth", "outHeight", "outWidth", "kernelHeight", "kernelWidth", "strideHeight", "strideWidth", "dilationHeight", "dilationWidth", "padTop", "padBottom", "padLeft", "padRight", "layout"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false},
        {"indices", Use::write, false, false}}},
      {"maxPoolBackward",
       {"batch", "inChannels", "inHeight", "inWidth", "outHeight", "outWidth", "kernelHeight", "kernelWidth", "strideHeight", "strideWidth", "dilationHeight", "dilationWidth", "padTop", "padBottom", "padLeft", "padRight", "layout"},
       false,
       {{"destinationGradient", Use::read, false, false},
        {"indices", Use::read, false, false},
        {"sourceGradient", Use::write, false, false}}},
      {"averagePoolForward",
       {"batch", "inChannels", "inHeight", "inWidth", "outHeight", "outWidth", "kernelHeight", "kernelWidth", "strideHeight", "strideWidth", "dilationHeight", "dilationWidth", "padTop", "padBottom", "padLeft", "padRight", "layout", "overhangBottom", "overhangRight", "countPadding"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"averagePoolBackward",
       {"batch", "inChannels", "inHeight", "inWidth", "outHeight", "outWidth", "kernelHeight", "kernelWidth", "strideHeight", "strideWidth", "dilationHeight", "dilationWidth", "padTop", "padBottom", "padLeft", "padRight", "layout", "overhangBottom", "overhangRight", "countPadding"},
       false,
       {{"destinationGradient", Use::read, false, false},
        {"sourceGradient", Use::write, false, false}}},
      {"globalAveragePoolForward",
       {"batch", "channels", "height", "width", "layout", "scale"},
       false,
       {{"source", Use::read, false, false},
        {"sum", Use::accumulate, false, false}}},
      {"globalAveragePoolBackward",
       {"batch", "channels", "height", "width", "layout", "scale"},
       false,
       {{"sumGradient", Use::read, false, false},
        {"sourceGradient", Use::write, false, false}}},
      {"globalMaxPoolForward",
       {"batch", "channels", "height", "width", "layout", "fullHeight", "fullWidth"},
       false,
       {{"source", Use::read, false, false},
        {"maxima", Use::accumulate, false, false},
        {"destination", Use::write, false, false},
        {"rowOrigin", Use::index, false, false},
        {"columnOrigin", Use::index, false, false}}},
      {"mergeMaxima",
       {"rows", "parts"},
       false,
       {{"source", Use::read, false, false},
        {"maxima", Use::write, false, false},
        {"destination", Use::write, false, false}}},
      {"globalMaxPoolBackward",
       {"batch", "channels", "height", "width", "layout", "fullHeight", "fullWidth"},
       false,
       {{"destinationGradient", Use::read, false, false},
        {"maxima", Use::read, false, false},
        {"sourceGradient", Use::write, false, false},
        {"rowOrigin", Use::index, false, false},
        {"columnOrigin", Use::index, false, false}}},
      {"momentsForward",
       {"batch", "channels", "height", "width", "layout", "groups", "perImage"},
       false,
       {{"source", Use::read, false, false},
        {"moments", Use::accumulate, false, false}}},
      {"mergeMoments",
       {"rows", "parts"},
       false,
       {{"source", Use::read, false, false},
        {"moments", Use::write, false, false}}},
      {"addSums",
       {"count", "parts"},
       false,
       {{"source", Use::read, false, false},
        {"sums", Use::write, false, false}}},
      {"momentsOfRunning",
       {"channels"},
       false,
       {{"mean", Use::read, false, false},
        {"variance", Use::read, false, false},
        {"moments", Use::write, false, false}}},
      {"updateRunning",
       {"channels", "momentum"},
       false,
       {{"moments", Use::read, false, false},
        {"mean", Use::accumulate, false, false},
        {"variance", Use::accumulate, false, false}}},
      {"normaliseForward",
       {"batch", "channels", "height", "width", "layout", "groups", "perImage", "epsilon", "slope"},
       false,
       {{"source", Use::read, false, true},
        {"moments", Use::read, false, false},
        {"weights", Use::read, true, false},
        {"bias", Use::read, true, false},
        {"destination", Use::write, false, false}}},
      {"normaliseBackwardReduce",
       {"batch", "channels", "height", "width", "layout", "groups", "perImage", "epsilon", "slope"},
       false,
       {{"source", Use::read, false, false},
        {"moments", Use::read, false, false},
        {"weights", Use::read, true, false},
        {"bias", Use::read, true, false},
        {"destinationGradient", Use::read, false, false},
        {"sums", Use::accumulate, false, false}}},
      {"normaliseParameters",
       {"images", "channels"},
       false,
       {{"sums", Use::read, false, false},
        {"weightGradient", Use::write, false, false},
        {"biasGradient", Use::write, true, false}}},
      {"normaliseBackward",
       {"batch", "channels", "height", "width", "layout", "groups", "perImage", "epsilon", "slope", "add"},
       false,
       {{"source", Use::read, false, false},
        {"moments", Use::read, false, false},
        {"weights", Use::read, true, false},
        {"bias", Use::read, true, false},
        {"sums", Use::read, true, false},
        {"destinationGradient", Use::read, false, true},
        {"sourceGradient", Use::accumulate, false, false}}},
      {"resizeForward",
       {"batch", "channels", "inHeight", "inWidth", "outHeight", "outWidth", "layout", "fullInHeight", "fullInWidth", "fullOutHeight", "fullOutWidth", "bilinear", "alignCorners"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false},
        {"sourceRow", Use::index, false, false},
        {"sourceColumn", Use::index, false, false},
        {"destinationRow", Use::index, false, false},
        {"destinationColumn", Use::index, false, false}}},
      {"resizeBackward",
       {"batch", "channels", "inHeight", "inWidth", "outHeight", "outWidth", "layout", "fullInHeight", "fullInWidth", "fullOutHeight", "fullOutWidth", "bilinear", "alignCorners"},
       false,
       {{"destinationGradient", Use::read, false, false},
        {"sourceGradient", Use::write, false, false},
        {"sourceRow", Use::index, false, false},
        {"sourceColumn", Use::index, false, false},
        {"destinationRow", Use::index, false, false},
        {"destinationColumn", Use::index, false, false}}},
      {"adaptivePoolForward",
       {"batch", "channels", "inHeight", "inWidth", "outHeight", "outWidth", "layout", "fullInHeight", "fullInWidth", "fullOutHeight", "fullOutWidth"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false},
        {"sourceRow", Use::index, false, false},
        {"sourceColumn", Use::index, false, false},
        {"destinationRow", Use::index, false, false},
        {"destinationColumn", Use::index, false, false}}},
      {"adaptivePoolBackward",
       {"batch", "channels", "inHeight", "inWidth", "outHeight", "outWidth", "layout", "fullInHeight", "fullInWidth", "fullOutHeight", "fullOutWidth"},
       false,
       {{"destinationGradient", Use::read, false, false},
        {"sourceGradient", Use::write, false, false},
        {"sourceRow", Use::index, false, false},
        {"sourceColumn", Use::index, false, false},
        {"destinationRow", Use::index, false, false},
        {"destinationColumn", Use::index, false, false}}},
      {"padForward",
       {"batch", "channels", "inHeight", "inWidth", "outHeight", "outWidth", "layout", "fullInHeight", "fullInWidth", "fullOutHeight", "fullOutWidth", "padTop", "padLeft", "mode"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false},
        {"sourceRow", Use::index, false, false},
        {"sourceColumn", Use::index, false, false},
        {"destinationRow", Use::index, false, false},
        {"destinationColumn", Use::index, false, false}}},
      {"padBackward",
       {"batch", "channels", "inHeight", "inWidth", "outHeight", "outWidth", "layout", "fullInHeight", "fullInWidth", "fullOutHeight", "fullOutWidth", "padTop", "padLeft", "mode"},
       false,
       {{"destinationGradient", Use::read, false, false},
        {"sourceGradient", Use::write, false, false},
        {"sourceRow", Use::index, false, false},
        {"sourceColumn", Use::index, false, false},
        {"destinationRow", Use::index, false, false},
        {"destinationColumn", Use::index, false, false}}},
      {"reorderActivation",
       {"batch", "channels", "height", "width", "sourceLayout", "destinationLayout"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"copyChannels",
       {"batch", "height", "width", "count", "sourceChannels", "sourceFirst", "sourceLayout", "destinationChannels", "destinationFirst", "destinationLayout", "add"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::accumulate, false, false}}},
      {"pixelShuffle",
       {"batch", "channels", "height", "width", "coarseHeight", "coarseWidth", "factor", "rowsBefore", "columnsBefore", "sourceLayout", "destinationLayout", "inverse"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"channelShuffle",
       {"batch", "channels", "height", "width", "layout", "groups"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"shiftChannels",
       {"batch", "channels", "height", "width", "sourceLayout", "destinationLayout", "sourceChannels", "offset"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"copyBox",
       {"n0", "n1", "n2", "n3", "sourceStride0", "sourceStride1", "sourceStride2", "destinationStride0", "destinationStride1", "destinationStride2", "add", "ofParameters"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::accumulate, false, false}}},
      {"packTile",
       {"batch", "channels", "height", "width", "layout", "strideBatch", "strideChannel", "strideHeight"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"unpackAddTile",
       {"batch", "channels", "height", "width", "layout", "strideBatch", "strideChannel", "strideHeight"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::accumulate, false, false}}},
      {"zero",
       {"bytes"},
       false,
       {{"destination", Use::write, false, false}}},
      {"loadImage",
       {"batch", "channels", "height", "width", "layout", "fullHeight", "fullWidth", "normalisation"},
       true,
       {{"destination", Use::write, false, false},
        {"batchOrigin", Use::index, false, false},
        {"rowOrigin", Use::index, false, false},
        {"columnOrigin", Use::index, false, false}}},
      {"softmaxCrossEntropyForward",
       {"batch", "classes", "fullBatch"},
       false,
       {{"source", Use::read, false, false},
        {"labels", Use::read, false, false},
        {"rowWeights", Use::read, true, false},
        {"loss", Use::accumulate, false, false}}},
      {"softmaxCrossEntropyBackward",
       {"batch", "classes", "fullBatch"},
       false,
       {{"source", Use::read, false, false},
        {"labels", Use::read, false, false},
        {"rowWeights", Use::read, true, false},
        {"sourceGradient", Use::write, false, false}}},
      {"meanSquaredErrorForward",
       {"batch", "channels", "height", "width", "layout", "strideBatch", "strideChannel", "strideHeight", "count"},
       false,
       {{"source", Use::read, false, false},
        {"target", Use::read, false, false},
        {"loss", Use::accumulate, false, false}}},
      {"meanSquaredErrorBackward",
       {"batch", "channels", "height", "width", "layout", "strideBatch", "strideChannel", "strideHeight", "count"},
       false,
       {{"source", Use::read, false, false},
        {"target", Use::read, false, false},
        {"sourceGradient", Use::write, false, false}}},
      {"pixelCrossEntropyForward",
       {"batch", "channels", "height", "width", "layout", "fullHeight", "fullWidth", "ignored"},
       false,
       {{"source", Use::read, false, false},
        {"labels", Use::read, false, false},
        {"classWeights", Use::read, true, false},
        {"normaliser", Use::read, false, false},
        {"loss", Use::accumulate, false, false}}},
      {"pixelCrossEntropyBackward",
       {"batch", "channels", "height", "width", "layout", "fullHeight", "fullWidth", "ignored"},
       false,
       {{"source", Use::read, false, false},
        {"labels", Use::read, false, false},
        {"classWeights", Use::read, true, false},
        {"normaliser", Use::read, false, false},
        {"sourceGradient", Use::write, false, false}}},
      {"argmaxChannels",
       {"batch", "channels", "height", "width", "layout", "fullHeight", "fullWidth"},
       false,
       {{"source", Use::read, false, false},
        {"classes", Use::write, false, false}}},
      {"classLossForward",
       {"batch", "channels", "height", "width", "layout", "fullHeight", "fullWidth", "ignored", "softmax", "expression"},
       true,
       {{"source", Use::read, false, false},
        {"labels", Use::read, false, false},
        {"classWeights", Use::read, true, false},
        {"rowWeights", Use::read, true, false},
        {"normaliser", Use::read, false, false},
        {"loss", Use::accumulate, false, false}}},
      {"classLossBackward",
       {"batch", "channels", "height", "width", "layout", "fullHeight", "fullWidth", "ignored", "softmax", "alpha", "beta", "smooth", "scale", "expression"},
       true,
       {{"source", Use::read, false, false},
        {"labels", Use::read, false, false},
        {"classWeights", Use::read, true, false},
        {"rowWeights", Use::read, true, false},
        {"normaliser", Use::read, false, false},
        {"overlaps", Use::read, true, false},
        {"sourceGradient", Use::write, false, false}}},
      {"sumOverlaps",
       {"batch", "channels", "height", "width", "layout", "fullHeight", "fullWidth", "ignored", "softmax"},
       false,
       {{"source", Use::read, false, false},
        {"labels", Use::read, false, false},
        {"overlaps", Use::accumulate, false, false}}},
      {"overlapLoss",
       {"images", "channels", "alpha", "beta", "smooth", "scale"},
       false,
       {{"overlaps", Use::read, false, false},
        {"classWeights", Use::read, true, false},
        {"loss", Use::accumulate, false, false}}},
      {"valueLossForward",
       {"batch", "channels", "height", "width", "layout", "strideBatch", "strideChannel", "strideHeight", "expression"},
       true,
       {{"source", Use::read, false, false},
        {"target", Use::read, false, false},
        {"rowWeights", Use::read, true, false},
        {"normaliser", Use::read, false, false},
        {"loss", Use::accumulate, false, false}}},
      {"valueLossBackward",
       {"batch", "channels", "height", "width", "layout", "strideBatch", "strideChannel", "strideHeight", "expression"},
       true,
       {{"source", Use::read, false, false},
        {"target", Use::read, false, false},
        {"rowWeights", Use::read, true, false},
        {"normaliser", Use::read, false, false},
        {"sourceGradient", Use::write, false, false}}},
      {"sgd",
       {"count", "rate", "weightDecay", "momentum"},
       false,
       {{"weights", Use::accumulate, false, false},
        {"gradient", Use::read, false, false},
        {"velocity", Use::accumulate, true, false}}},
      {"adam",
       {"count", "rate", "weightDecay", "beta1", "beta2", "epsilon", "decoupled"},
       false,
       {{"weights", Use::accumulate, false, false},
        {"gradient", Use::read, false, false},
        {"firstMoment", Use::accumulate, false, false},
        {"secondMoment", Use::accumulate, false, false}}},
      {"sumSquares",
       {"count"},
       false,
       {{"source", Use::read, false, false},
        {"sum", Use::accumulate, false, false}}},
      {"clipGradient",
       {"count", "maxNorm"},
       false,
       {{"sumSquares", Use::read, false, false},
        {"gradient", Use::accumulate, false, false}}},
      {"squareRoot",
       {"count"},
       false,
       {{"source", Use::read, false, false},
        {"destination", Use::write, false, false}}},
      {"normalisedConvolutionForward",
       {"batch", "channels", "height", "width", "layout", "groups", "perImage", "epsilon", "slope", "outChannels", "weightLayout", "outSlope"},
       false,
       {{"source", Use::read, false, false},
        {"moments", Use::read, false, false},
        {"scale", Use::read, true, false},
        {"shift", Use::read, true, false},
        {"weights", Use::read, false, false},
        {"bias", Use::read, true, false},
        {"destination", Use::write, false, false},
        {"scratch", Use::scratch, true, false}}},
      {"normalisedConvolutionBackwardWeights",
       {"batch", "channels", "height", "width", "layout", "groups", "perImage", "epsilon", "slope", "outChannels", "weightLayout"},
       false,
       {{"source", Use::read, false, false},
        {"moments", Use::read, false, false},
        {"scale", Use::read, true, false},
        {"shift", Use::read, true, false},
        {"destinationGradient", Use::read, false, false},
        {"weightGradient", Use::write, false, false},
        {"biasGradient", Use::write, true, false},
        {"scratch", Use::scratch, true, false}}},
  };
  return table;
}

Count::Count(FieldReader& f)
    : count(f.integer()) {}

Rectifier::Rectifier(FieldReader& f)
    : Count(f),
      slope(f.number()) {}

ClipGradient::ClipGradient(FieldReader& f)
    : Count(f),
      maxNorm(f.number()) {}

Optimizer::Optimizer(FieldReader& f)
    : Count(f),
      rate(f.number()),
      weightDecay(f.number()) {}

Sgd::Sgd(FieldReader& f)
    : Optimizer(f),
      momentum(f.number()) {}

Adam::Adam(FieldReader& f)
    : Optimizer(f),
      beta1(f.number()),
      beta2(f.number()),
      epsilon(f.number()),
      decoupled(f.flag()) {}

Zero::Zero(FieldReader& f)
    : bytes(f.integer()) {}

ChannelCount::ChannelCount(FieldReader& f)
    : channels(f.integer()) {}

UpdateRunning::UpdateRunning(FieldReader& f)
    : ChannelCount(f),
      momentum(f.number()) {}

MergeParts::MergeParts(FieldReader& f)
    : rows(f.integer()),
      parts(f.integer()) {}

AddSums::AddSums(FieldReader& f)
    : count(f.integer()),
      parts(f.integer()) {}

NormaliseParameters::NormaliseParameters(FieldReader& f)
    : images(f.integer()),
      channels(f.integer()) {}

Linear::Linear(FieldReader& f)
    : batch(f.integer()),
      inFeatures(f.integer()),
      outFeatures(f.integer()) {}

CrossEntropy::CrossEntropy(FieldReader& f)
    : batch(f.integer()),
      classes(f.integer()),
      fullBatch(f.integer()) {}

Window::Window(FieldReader& f)
    : batch(f.integer()),
      inChannels(f.integer()),
      inHeight(f.integer()),
      inWidth(f.integer()),
      outHeight(f.integer()),
      outWidth(f.integer()),
      kernelHeight(f.integer()),
      kernelWidth(f.integer()),
      strideHeight(f.integer()),
      strideWidth(f.integer()),
      dilationHeight(f.integer()),
      dilationWidth(f.integer()),
      padTop(f.integer()),
      padBottom(f.integer()),
      padLeft(f.integer()),
      padRight(f.integer()) {}

Pool::Pool(FieldReader& f)
    : Window(f),
      layout(f.layout()) {}

AveragePool::AveragePool(FieldReader& f)
    : Pool(f),
      overhangBottom(f.integer()),
      overhangRight(f.integer()),
      countPadding(f.flag()) {}

Convolution::Convolution(FieldReader& f)
    : Window(f),
      outChannels(f.integer()),
      groups(f.integer()),
      sourceLayout(f.layout()),
      destinationLayout(f.layout()),
      weightLayout(f.layout()),
      algorithm(f.integer()),
      slope(f.end() ? 1 : f.number()) {}

WeightReorder::WeightReorder(FieldReader& f)
    : outChannels(f.integer()),
      inChannels(f.integer()),
      kernelHeight(f.integer()),
      kernelWidth(f.integer()),
      groups(f.integer()),
      sourceLayout(f.layout()),
      destinationLayout(f.layout()) {}

WeightSlice::WeightSlice(FieldReader& f)
    : WeightReorder(f),
      sourceOutChannels(f.integer()),
      sourceInChannels(f.integer()),
      firstOut(f.integer()),
      firstIn(f.integer()) {}

ActivationReorder::ActivationReorder(FieldReader& f)
    : batch(f.integer()),
      channels(f.integer()),
      height(f.integer()),
      width(f.integer()),
      sourceLayout(f.layout()),
      destinationLayout(f.layout()) {}

Tile::Tile(FieldReader& f)
    : batch(f.integer()),
      channels(f.integer()),
      height(f.integer()),
      width(f.integer()),
      layout(f.layout()) {}

PointwiseTile::PointwiseTile(FieldReader& f)
    : Tile(f),
      broadcast(f.flag()),
      weightPerChannel(f.flag()),
      biasPerChannel(f.flag()) {}

Pointwise::Pointwise(FieldReader& f)
    : PointwiseTile(f),
      expression(f.numbers()) {}

PointwiseSum::PointwiseSum(FieldReader& f)
    : PointwiseTile(f),
      rows(f.integer()),
      expression(f.numbers()) {}

GlobalAveragePool::GlobalAveragePool(FieldReader& f)
    : Tile(f),
      scale(f.number()) {}

Dropout::Dropout(FieldReader& f)
    : Tile(f),
      fullChannels(f.integer()),
      fullHeight(f.integer()),
      fullWidth(f.integer()),
      layerKey(f.integer()),
      rate(f.number()) {}

PlacedTile::PlacedTile(FieldReader& f)
    : Tile(f),
      fullHeight(f.integer()),
      fullWidth(f.integer()) {}

PixelCrossEntropy::PixelCrossEntropy(FieldReader& f)
    : PlacedTile(f),
      ignored(f.integer()) {}

Probabilities::Probabilities(FieldReader& f)
    : PixelCrossEntropy(f),
      softmax(f.flag()) {}

ClassLoss::ClassLoss(FieldReader& f)
    : Probabilities(f),
      expression(f.numbers()) {}

ClassLossBackward::ClassLossBackward(FieldReader& f)
    : Probabilities(f),
      alpha(f.number()),
      beta(f.number()),
      smooth(f.number()),
      scale(f.number()),
      expression(f.numbers()) {}

OverlapLoss::OverlapLoss(FieldReader& f)
    : NormaliseParameters(f),
      alpha(f.number()),
      beta(f.number()),
      smooth(f.number()),
      scale(f.number()) {}

LoadImage::LoadImage(FieldReader& f)
    : PlacedTile(f),
      normalisation(f.numbers()) {}

StridedTile::StridedTile(FieldReader& f)
    : Tile(f),
      strideBatch(f.integer()),
      strideChannel(f.integer()),
      strideHeight(f.integer()) {}

SquaredError::SquaredError(FieldReader& f)
    : StridedTile(f),
      count(f.integer()) {}

ValueLoss::ValueLoss(FieldReader& f)
    : StridedTile(f),
      expression(f.numbers()) {}

ChannelGroups::ChannelGroups(FieldReader& f)
    : Tile(f),
      groups(f.integer()) {}

GroupedTile::GroupedTile(FieldReader& f)
    : ChannelGroups(f),
      perImage(f.flag()) {}

Normalise::Normalise(FieldReader& f)
    : GroupedTile(f),
      epsilon(f.number()),
      slope(f.number()),
      add(f.end() ? false : f.flag()) {}

NormalisedConvolution::NormalisedConvolution(FieldReader& f)
    : GroupedTile(f),
      epsilon(f.number()),
      slope(f.number()),
      outChannels(f.integer()),
      weightLayout(f.layout()),
      outSlope(f.end() ? 1 : f.number()) {}

CopyChannels::CopyChannels(FieldReader& f)
    : batch(f.integer()),
      height(f.integer()),
      width(f.integer()),
      count(f.integer()),
      sourceChannels(f.integer()),
      sourceFirst(f.integer()),
      sourceLayout(f.layout()),
      destinationChannels(f.integer()),
      destinationFirst(f.integer()),
      destinationLayout(f.layout()),
      add(f.flag()) {}

Resampled::Resampled(FieldReader& f)
    : batch(f.integer()),
      channels(f.integer()),
      inHeight(f.integer()),
      inWidth(f.integer()),
      outHeight(f.integer()),
      outWidth(f.integer()),
      layout(f.layout()),
      fullInHeight(f.integer()),
      fullInWidth(f.integer()),
      fullOutHeight(f.integer()),
      fullOutWidth(f.integer()) {}

Resize::Resize(FieldReader& f)
    : Resampled(f),
      bilinear(f.flag()),
      alignCorners(f.flag()) {}

Pad::Pad(FieldReader& f)
    : Resampled(f),
      padTop(f.integer()),
      padLeft(f.integer()),
      mode(f.integer()) {}

PixelShuffle::PixelShuffle(FieldReader& f)
    : batch(f.integer()),
      channels(f.integer()),
      height(f.integer()),
      width(f.integer()),
      coarseHeight(f.integer()),
      coarseWidth(f.integer()),
      factor(f.integer()),
      rowsBefore(f.integer()),
      columnsBefore(f.integer()),
      sourceLayout(f.layout()),
      destinationLayout(f.layout()),
      inverse(f.flag()) {}

CopyBox::CopyBox(FieldReader& f)
    : n{f.integer(), f.integer(), f.integer(), f.integer()},
      sourceStride{f.integer(), f.integer(), f.integer()},
      destinationStride{f.integer(), f.integer(), f.integer()},
      add(f.flag()),
      ofParameters(f.flag()) {}

ShiftChannels::ShiftChannels(FieldReader& f)
    : ActivationReorder(f),
      sourceChannels(f.integer()),
      offset(f.integer()) {}

}  // namespace tilefold
