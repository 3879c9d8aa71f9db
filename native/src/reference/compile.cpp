#include <algorithm>
#include <cstring>
#include <functional>

#include "bias.hpp"
#include "block_loop.hpp"
#include "clipping.hpp"
#include "convolution.hpp"
#include "device.hpp"
#include "expression.hpp"
#include "image.hpp"
#include "linear.hpp"
#include "loss.hpp"
#include "movement.hpp"
#include "normalisation.hpp"
#include "optimizer.hpp"
#include "pixel_loss.hpp"
#include "pointwise.hpp"
#include "pooling.hpp"
#include "resampling.hpp"

namespace tilefold::reference {
namespace {

// What a launch may read: its operands as elements of any type, and the step's parameters.
struct Arguments {
  const std::vector<Operand>& operands;
  const StepParameters& step;

  template <class T>
  T* at(std::size_t i) const {
    return reinterpret_cast<T*>(operands[i].address);
  }
  ResampledAt resampledAt() const { return {operands[2].index, operands[3].index, operands[4].index, operands[5].index}; }
  // What an expression reads: the first four operands, and the gradient.
  template <class T>
  PointwiseOperands<T> leaves(const T* gradient) const {
    return {at<T>(0), at<T>(1), at<ParameterOf<T>>(2), at<ParameterOf<T>>(3), gradient};
  }
  TileOrigin originInPlane(std::size_t first) const { return {0, operands[first].index, operands[first + 1].index}; }
  TileOrigin origin(std::size_t first) const { return {operands[first].index, operands[first + 1].index, operands[first + 2].index}; }
};

// One class for all kernels: a class for each of them in each type took most of the build's time.
class Compiled : public CompiledKernel {
 public:
  explicit Compiled(std::function<void(const Arguments&)> body) : body_(std::move(body)) {}
  void launch(const std::vector<Operand>& operands, const StepParameters& step) override { body_(Arguments{operands, step}); }

 private:
  std::function<void(const Arguments&)> body_;
};

std::unique_ptr<CompiledKernel> compiled(std::function<void(const Arguments&)> body) { return std::make_unique<Compiled>(std::move(body)); }

Convolution plainConvolution(const Kernel& kernel) {
  const auto c = decode<Convolution>(kernel);
  requirePlain(c);
  return c;
}

std::int64_t plainWeights(const WeightReorder& r) {
  if (r.sourceLayout != Layout::plain || r.destinationLayout != Layout::plain)
    throw Failure("the reference device keeps weights in the plain layout only");
  return weightElements(Layout::plain, r.outChannels, r.inChannels / r.groups, r.kernelHeight, r.kernelWidth, r.groups);
}

Pool countableMaxPool(const Kernel& kernel) {
  const auto p = decode<Pool>(kernel);
  indicesBytes(p);
  return p;
}

// Fields of a kernel that runs in any blocked or plain layout.
template <class FieldsOfKind>
FieldsOfKind inBlocks(const Kernel& kernel) {
  const auto fields = decode<FieldsOfKind>(kernel);
  Planes(fields.layout, fields.batch, fields.channels);
  return fields;
}

template <class T>
std::unique_ptr<CompiledKernel> copyingBox(const CopyBox& b) {
  using P = ParameterOf<T>;
  if (b.ofParameters) return compiled([=](const Arguments& a) { copyBox<P>(b, a.at<P>(0), a.at<P>(1)); });
  return compiled([=](const Arguments& a) { copyBox<T>(b, a.at<T>(0), a.at<T>(1)); });
}

template <class T>
std::unique_ptr<CompiledKernel> resampling(const Resampled& r, Resampling kind, bool forward) {
  if (forward) return compiled([=](const Arguments& a) { resampleForward<T>(r, kind, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
  return compiled([=](const Arguments& a) { resampleBackward<T>(r, kind, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::convolutionForward:
      return compiled(
          [c = plainConvolution(kernel)](const A& a) { convolutionForward<T>(c, a.at<T>(0), a.at<T>(1), a.at<P>(2), a.at<T>(3)); });
    case KernelKind::convolutionBackwardData:
      return compiled([c = plainConvolution(kernel)](const A& a) { convolutionBackwardData<T>(c, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::convolutionBackwardWeights:
      return compiled(
          [c = plainConvolution(kernel)](const A& a) { convolutionBackwardWeights<T>(c, a.at<T>(0), a.at<T>(1), a.at<P>(2), a.at<P>(3)); });
    case KernelKind::reorderWeights:
      return compiled([count = plainWeights(decode<WeightReorder>(kernel))](const A& a) {
        std::memmove(a.at<P>(1), a.at<P>(0), static_cast<std::size_t>(count) * sizeof(P));
      });
    case KernelKind::reorderActivation:
      return compiled([r = decode<ActivationReorder>(kernel)](const A& a) { reorderActivation<T>(r, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::rectifierForward:
      return compiled([r = decode<Rectifier>(kernel)](const A& a) { rectifierForward<T>(r, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::rectifierBackward:
      return compiled([r = decode<Rectifier>(kernel)](const A& a) { rectifierBackward<T>(r, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::maxPoolForward:
      return compiled([p = countableMaxPool(kernel)](const A& a) { maxPoolForward<T>(p, a.at<T>(0), a.at<T>(1), a.at<std::int32_t>(2)); });
    case KernelKind::maxPoolBackward:
      return compiled([p = countableMaxPool(kernel)](const A& a) { maxPoolBackward<T>(p, a.at<T>(0), a.at<std::int32_t>(1), a.at<T>(2)); });
    case KernelKind::averagePoolForward:
      return compiled([p = decode<AveragePool>(kernel)](const A& a) { averagePoolForward<T>(p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::averagePoolBackward:
      return compiled([p = decode<AveragePool>(kernel)](const A& a) { averagePoolBackward<T>(p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::globalAveragePoolForward:
      return compiled([s = decode<GlobalAveragePool>(kernel)](const A& a) { globalAveragePoolForward<T>(s, a.at<T>(0), a.at<P>(1)); });
    case KernelKind::globalAveragePoolBackward:
      return compiled([s = decode<GlobalAveragePool>(kernel)](const A& a) { globalAveragePoolBackward<T>(s, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::linearForward:
      return compiled([l = decode<Linear>(kernel)](const A& a) { linearForward<T>(l, a.at<T>(0), a.at<T>(1), a.at<P>(2), a.at<T>(3)); });
    case KernelKind::linearBackwardData:
      return compiled([l = decode<Linear>(kernel)](const A& a) { linearBackwardData<T>(l, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::linearBackwardWeights:
      return compiled(
          [l = decode<Linear>(kernel)](const A& a) { linearBackwardWeights<T>(l, a.at<T>(0), a.at<T>(1), a.at<P>(2), a.at<P>(3)); });
    case KernelKind::dropout:
      return compiled(
          [d = decode<Dropout>(kernel)](const A& a) { dropout<T>(d, a.origin(2), a.step.seed, a.step.step, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::softmaxCrossEntropyForward:
      return compiled([c = decode<CrossEntropy>(kernel)](const A& a) {
        softmaxCrossEntropyForward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), a.at<double>(3));
      });
    case KernelKind::softmaxCrossEntropyBackward:
      return compiled([c = decode<CrossEntropy>(kernel)](const A& a) {
        softmaxCrossEntropyBackward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), a.at<T>(3));
      });
    case KernelKind::meanSquaredErrorForward:
      return compiled(
          [s = decode<SquaredError>(kernel)](const A& a) { meanSquaredErrorForward<T>(s, a.at<T>(0), a.at<P>(1), a.at<double>(2)); });
    case KernelKind::meanSquaredErrorBackward:
      return compiled(
          [s = decode<SquaredError>(kernel)](const A& a) { meanSquaredErrorBackward<T>(s, a.at<T>(0), a.at<P>(1), a.at<T>(2)); });
    case KernelKind::resizeForward:
    case KernelKind::resizeBackward: {
      const auto r = inBlocks<Resize>(kernel);
      return resampling<T>(r, resamplingOf(r), kernel.kind == KernelKind::resizeForward);
    }
    case KernelKind::adaptivePoolForward:
    case KernelKind::adaptivePoolBackward:
      return resampling<T>(inBlocks<Resampled>(kernel), Resampling::adaptive, kernel.kind == KernelKind::adaptivePoolForward);
    case KernelKind::padForward:
      return compiled([p = inBlocks<Pad>(kernel)](const A& a) { padForward<T>(p, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
    case KernelKind::padBackward:
      return compiled([p = inBlocks<Pad>(kernel)](const A& a) { padBackward<T>(p, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
    case KernelKind::pixelShuffle:
      return compiled([p = decode<PixelShuffle>(kernel)](const A& a) { pixelShuffle<T>(p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::channelShuffle:
      return compiled([s = inBlocks<ChannelGroups>(kernel)](const A& a) { channelShuffle<T>(s, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::globalMaxPoolForward:
      return compiled([t = inBlocks<PlacedTile>(kernel)](const A& a) {
        globalMaxPoolForward<T>(t, a.originInPlane(3), a.at<T>(0), a.at<Maximum>(1), a.at<T>(2));
      });
    case KernelKind::globalMaxPoolBackward:
      return compiled([t = inBlocks<PlacedTile>(kernel)](const A& a) {
        globalMaxPoolBackward<T>(t, a.originInPlane(3), a.at<T>(0), a.at<Maximum>(1), a.at<T>(2));
      });
    case KernelKind::addBias:
      return compiled([t = inBlocks<Tile>(kernel)](const A& a) { addBias<T>(t, a.at<P>(0), a.at<T>(1)); });
    case KernelKind::sumBias:
      return compiled([t = inBlocks<Tile>(kernel)](const A& a) { sumBias<T>(t, a.at<T>(0), a.at<P>(1)); });
    case KernelKind::pixelCrossEntropyForward:
      return compiled([c = inBlocks<PixelCrossEntropy>(kernel)](const A& a) {
        pixelCrossEntropyForward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), *a.at<double>(3), a.at<double>(4));
      });
    case KernelKind::pixelCrossEntropyBackward:
      return compiled([c = inBlocks<PixelCrossEntropy>(kernel)](const A& a) {
        pixelCrossEntropyBackward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), *a.at<double>(3), a.at<T>(4));
      });
    case KernelKind::argmaxChannels:
      return compiled([t = inBlocks<PlacedTile>(kernel)](const A& a) { argmaxChannels<T>(t, a.at<T>(0), a.at<std::uint8_t>(1)); });
    case KernelKind::momentsForward:
      return compiled([t = decode<GroupedTile>(kernel)](const A& a) { momentsForward<T>(t, a.at<T>(0), a.at<Moments>(1)); });
    case KernelKind::momentsOfRunning:
      return compiled([c = decode<ChannelCount>(kernel)](const A& a) { momentsOfRunning<P>(c, a.at<P>(0), a.at<P>(1), a.at<Moments>(2)); });
    case KernelKind::updateRunning:
      return compiled([u = decode<UpdateRunning>(kernel)](const A& a) { updateRunning<P>(u, a.at<Moments>(0), a.at<P>(1), a.at<P>(2)); });
    case KernelKind::normaliseForward:
      return compiled([n = decode<Normalise>(kernel)](const A& a) {
        normaliseForward<T>(n, {a.at<T>(0), a.at<Moments>(1), a.at<P>(2), a.at<P>(3), nullptr}, a.at<T>(4));
      });
    case KernelKind::normaliseBackwardReduce:
      return compiled([n = decode<Normalise>(kernel)](const A& a) {
        normaliseBackwardReduce<T>(n, {a.at<T>(0), a.at<Moments>(1), a.at<P>(2), a.at<P>(3), a.at<T>(4)}, a.at<GradientSums>(5));
      });
    case KernelKind::normaliseParameters:
      return compiled([p = decode<NormaliseParameters>(kernel)](const A& a) {
        normaliseParameters<P>(p, a.at<GradientSums>(0), a.at<P>(1), a.at<P>(2));
      });
    case KernelKind::normaliseBackward:
      return compiled([n = decode<Normalise>(kernel)](const A& a) {
        normaliseBackward<T>(n, {a.at<T>(0), a.at<Moments>(1), a.at<P>(2), a.at<P>(3), a.at<T>(5)}, a.at<GradientSums>(4), a.at<T>(6));
      });
    case KernelKind::addForward:
      return compiled([r = decode<Rectifier>(kernel)](const A& a) { addForward<T>(r, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::copyChannels:
      return compiled([c = decode<CopyChannels>(kernel)](const A& a) { copyChannels<T>(c, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::pointwiseForward:
      return compiled([p = inBlocks<Pointwise>(kernel)](const A& a) { pointwise<T>(p, a.template leaves<T>(nullptr), a.at<T>(4)); });
    case KernelKind::pointwiseBackward:
      return compiled([p = inBlocks<Pointwise>(kernel)](const A& a) { pointwise<T>(p, a.template leaves<T>(a.at<T>(4)), a.at<T>(5)); });
    case KernelKind::pointwiseSum: {
      const auto s = inBlocks<PointwiseSum>(kernel);
      if (rowsOf(s) == SumRows::imageChannels)
        return compiled([s](const A& a) { pointwiseSum<T, T>(s, a.template leaves<T>(a.at<T>(4)), a.at<T>(5)); });
      return compiled([s](const A& a) { pointwiseSum<T, P>(s, a.template leaves<T>(a.at<T>(4)), a.at<P>(5)); });
    }
    case KernelKind::copyBox:
      return copyingBox<T>(decode<CopyBox>(kernel));
    case KernelKind::packTile:
      return compiled([t = decode<StridedTile>(kernel)](const A& a) { packTile<T>(t, a.at<P>(0), a.at<T>(1)); });
    case KernelKind::unpackAddTile:
      return compiled([t = decode<StridedTile>(kernel)](const A& a) { unpackAddTile<T>(t, a.at<T>(0), a.at<P>(1)); });
    case KernelKind::zero:
      return compiled([z = decode<Zero>(kernel)](const A& a) { std::fill_n(a.at<std::byte>(0), z.bytes, std::byte{0}); });
    case KernelKind::loadImage:
      return compiled([l = decode<LoadImage>(kernel)](const A& a) { loadImage<T>(l, a.origin(1), a.step.images, a.at<T>(0)); });
    case KernelKind::sgd:
      return compiled(
          [s = decode<Sgd>(kernel)](const A& a) { sgd<P>(s, a.step.learningRate, a.step.step, a.at<P>(0), a.at<P>(1), a.at<P>(2)); });
    case KernelKind::adam:
      return compiled([o = decode<Adam>(kernel)](const A& a) {
        adam<P>(o, a.step.learningRate, a.step.step, a.at<P>(0), a.at<P>(1), a.at<P>(2), a.at<P>(3));
      });
    case KernelKind::sumSquares:
      return compiled([s = decode<Count>(kernel)](const A& a) { sumSquares<P>(s, a.at<P>(0), a.at<double>(1)); });
    case KernelKind::clipGradient:
      return compiled([c = decode<ClipGradient>(kernel)](const A& a) { clipGradient<P>(c, *a.at<double>(0), a.at<P>(1)); });
    case KernelKind::squareRoot:
      return compiled([s = decode<Count>(kernel)](const A& a) { squareRoot(s, a.at<double>(0), a.at<double>(1)); });
    case KernelKind::castWeights:
      return compiled([r = decode<Count>(kernel)](const A& a) { castWeights<T>(r, a.at<P>(0), a.at<T>(1)); });
  }
  throw Failure("the reference device has no such kernel");
}

template std::unique_ptr<CompiledKernel> compile<float>(const Kernel&);
template std::unique_ptr<CompiledKernel> compile<double>(const Kernel&);
template std::unique_ptr<CompiledKernel> compile<Bfloat16>(const Kernel&);

}  // namespace tilefold::reference
