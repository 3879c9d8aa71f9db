#include "compile.hpp"

#include <functional>

#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"
#include "../reference/pooling.hpp"
#include "average_pool.hpp"
#include "clipping.hpp"
#include "copy_rows.hpp"
#include "expression.hpp"
#include "image.hpp"
#include "loss.hpp"
#include "max_pool.hpp"
#include "movement.hpp"
#include "normalisation.hpp"
#include "optimizer.hpp"
#include "pixel_loss.hpp"
#include "pointwise.hpp"
#include "reorder.hpp"
#include "resampling.hpp"
#include "global_average_pool.hpp"
#include "tile_bias.hpp"

namespace tilefold::cuda {
namespace {

// What a launch may use: the device, and its operands as elements of any type.
struct Arguments {
  const Context& context;
  const std::vector<Operand>& operands;

  template <class T = float>
  T* at(std::size_t i) const {
    return reinterpret_cast<T*>(operands[i].address);
  }
  // Of a kernel that maps coordinates between whole tensors.
  ResampledAt places() const { return {operands[2].index, operands[3].index, operands[4].index, operands[5].index}; }
  // What an expression reads: the first four operands, and the gradient.
  template <class T>
  PointwiseOperands<T> leaves(const T* gradient) const {
    return {at<T>(0), at<T>(1), at(2), at(3), gradient};
  }
  TileOrigin originInPlane(std::size_t first) const { return {0, operands[first].index, operands[first + 1].index}; }
  TileOrigin origin(std::size_t first) const { return {operands[first].index, operands[first + 1].index, operands[first + 2].index}; }
};

// One class for all kernels: a class for each of them in each type took most of the build's time.
class Compiled : public CompiledKernel {
 public:
  Compiled(const Context& context, std::function<void(const Arguments&)> body) : context_(context), body_(std::move(body)) {}
  void launch(const std::vector<Operand>& operands, const StepParameters&) override { body_(Arguments{context_, operands}); }
  void load(const std::vector<Operand>& operands, const StepParameters&) override {
    Context loading = context_;
    loading.compute = context_.load;
    body_(Arguments{loading, operands});
  }

 private:
  const Context& context_;
  std::function<void(const Arguments&)> body_;
};

void requireActivation(Layout layout) {
  if (layout != Layout::plain && layout != Layout::nhwc)
    throw Failure(std::string("the cuda device keeps activations plain or nhwc, not ") + layoutInfo(layout).name);
}

void requireWeights(Layout layout) {
  if (layout != Layout::plain && layout != Layout::ohwi)
    throw Failure(std::string("the cuda device keeps weights plain or ohwi, not ") + layoutInfo(layout).name);
}

// Fields with a layout that the kernels here know.
template <class FieldsOfKind>
FieldsOfKind tiled(const Kernel& kernel) {
  const auto fields = decode<FieldsOfKind>(kernel);
  requireActivation(fields.layout);
  return fields;
}

Pool countableMaxPool(const Kernel& kernel) {
  const auto p = tiled<Pool>(kernel);
  reference::indicesBytes(p);
  return p;
}

// Fields with two of them.
template <class FieldsOfKind>
FieldsOfKind betweenTiles(const Kernel& kernel) {
  const auto fields = decode<FieldsOfKind>(kernel);
  requireActivation(fields.sourceLayout);
  requireActivation(fields.destinationLayout);
  return fields;
}

WeightReorder weightReorder(const Kernel& kernel) {
  const auto r = decode<WeightReorder>(kernel);
  requireWeights(r.sourceLayout);
  requireWeights(r.destinationLayout);
  return r;
}

// With activations of type T.
template <class T>
std::unique_ptr<CompiledKernel> compileFor(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  const auto compiled = [&context](std::function<void(const Arguments&)> body) -> std::unique_ptr<CompiledKernel> {
    return std::make_unique<Compiled>(context, std::move(body));
  };
  switch (kernel.kind) {
    case KernelKind::reorderWeights:
      return compiled([r = weightReorder(kernel)](const A& a) { reorderWeights(a.context, r, a.at(0), a.at(1)); });
    case KernelKind::reorderActivation:
      return compiled(
          [r = betweenTiles<ActivationReorder>(kernel)](const A& a) { reorderActivation<T>(a.context, r, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::rectifierForward:
      return compiled([r = decode<Rectifier>(kernel)](const A& a) { rectifierForward<T>(a.context, r, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::rectifierBackward:
      return compiled(
          [r = decode<Rectifier>(kernel)](const A& a) { rectifierBackward<T>(a.context, r, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::maxPoolForward:
      return compiled(
          [p = countableMaxPool(kernel)](const A& a) { maxPoolForward<T>(a.context, p, a.at<T>(0), a.at<T>(1), a.at<std::int32_t>(2)); });
    case KernelKind::maxPoolBackward:
      return compiled(
          [p = countableMaxPool(kernel)](const A& a) { maxPoolBackward<T>(a.context, p, a.at<T>(0), a.at<std::int32_t>(1), a.at<T>(2)); });
    case KernelKind::averagePoolForward:
      return compiled([p = tiled<AveragePool>(kernel)](const A& a) { averagePoolForward<T>(a.context, p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::averagePoolBackward:
      return compiled([p = tiled<AveragePool>(kernel)](const A& a) { averagePoolBackward<T>(a.context, p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::globalAveragePoolForward:
      return compiled([s = tiled<GlobalAveragePool>(kernel)](const A& a) { globalAveragePoolForward<T>(a.context, s, a.at<T>(0), a.at(1)); });
    case KernelKind::globalAveragePoolBackward:
      return compiled([s = tiled<GlobalAveragePool>(kernel)](const A& a) { globalAveragePoolBackward<T>(a.context, s, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::dropout:
      return compiled([d = tiled<Dropout>(kernel)](const A& a) { dropout<T>(a.context, d, a.origin(2), a.at<T>(0), a.at<T>(1)); });
    case KernelKind::softmaxCrossEntropyForward:
      return compiled([c = decode<CrossEntropy>(kernel)](const A& a) {
        softmaxCrossEntropyForward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at<double>(3));
      });
    case KernelKind::softmaxCrossEntropyBackward:
      return compiled([c = decode<CrossEntropy>(kernel)](const A& a) {
        softmaxCrossEntropyBackward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at<T>(3));
      });
    case KernelKind::meanSquaredErrorForward:
      return compiled([s = tiled<SquaredError>(kernel)](const A& a) {
        meanSquaredErrorForward<T>(a.context, s, a.at<T>(0), a.at(1), a.at<double>(2));
      });
    case KernelKind::meanSquaredErrorBackward:
      return compiled(
          [s = tiled<SquaredError>(kernel)](const A& a) { meanSquaredErrorBackward<T>(a.context, s, a.at<T>(0), a.at(1), a.at<T>(2)); });
    case KernelKind::momentsForward:
      return compiled([t = tiled<GroupedTile>(kernel)](const A& a) { momentsForward<T>(a.context, t, a.at<T>(0), a.at<Moments>(1)); });
    case KernelKind::momentsOfRunning:
      return compiled(
          [c = decode<ChannelCount>(kernel)](const A& a) { momentsOfRunning(a.context, c, a.at(0), a.at(1), a.at<Moments>(2)); });
    case KernelKind::updateRunning:
      return compiled([u = decode<UpdateRunning>(kernel)](const A& a) { updateRunning(a.context, u, a.at<Moments>(0), a.at(1), a.at(2)); });
    case KernelKind::normaliseForward:
      return compiled([n = tiled<Normalise>(kernel)](const A& a) {
        normaliseForward<T>(a.context, n, {a.at<T>(0), a.at<Moments>(1), a.at(2), a.at(3), nullptr}, a.at<T>(4));
      });
    case KernelKind::normaliseBackwardReduce:
      return compiled([n = tiled<Normalise>(kernel)](const A& a) {
        normaliseBackwardReduce<T>(a.context, n, {a.at<T>(0), a.at<Moments>(1), a.at(2), a.at(3), a.at<T>(4)}, a.at<GradientSums>(5));
      });
    case KernelKind::normaliseParameters:
      return compiled([p = decode<NormaliseParameters>(kernel)](const A& a) {
        normaliseParameters(a.context, p, a.at<GradientSums>(0), a.at(1), a.at(2));
      });
    case KernelKind::normaliseBackward:
      return compiled([n = tiled<Normalise>(kernel)](const A& a) {
        normaliseBackward<T>(a.context, n, {a.at<T>(0), a.at<Moments>(1), a.at(2), a.at(3), a.at<T>(5)}, a.at<GradientSums>(4), a.at<T>(6));
      });
    case KernelKind::addForward:
      return compiled([r = decode<Rectifier>(kernel)](const A& a) { addForward<T>(a.context, r, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::copyChannels:
      return compiled([c = betweenTiles<CopyChannels>(kernel)](const A& a) { copyChannels<T>(a.context, c, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::pointwiseForward:
      return compiled([p = tiled<Pointwise>(kernel)](const A& a) { pointwise<T>(a.context, p, a.leaves<T>(nullptr), a.at<T>(4)); });
    case KernelKind::pointwiseBackward:
      return compiled([p = tiled<Pointwise>(kernel)](const A& a) { pointwise<T>(a.context, p, a.leaves<T>(a.at<T>(4)), a.at<T>(5)); });
    case KernelKind::pointwiseSum: {
      const auto s = tiled<PointwiseSum>(kernel);
      if (rowsOf(s) == SumRows::imageChannels)
        return compiled([s](const A& a) { pointwiseSum<T, T>(a.context, s, a.leaves<T>(a.at<T>(4)), a.at<T>(5)); });
      return compiled([s](const A& a) { pointwiseSum<T, float>(a.context, s, a.leaves<T>(a.at<T>(4)), a.at(5)); });
    }
    case KernelKind::resizeForward:
      return compiled([r = tiled<Resize>(kernel)](const A& a) {
        resampleForward<T>(a.context, r, resamplingOf(r), a.places(), a.at<T>(0), a.at<T>(1));
      });
    case KernelKind::resizeBackward:
      return compiled([r = tiled<Resize>(kernel)](const A& a) {
        resampleBackward<T>(a.context, r, resamplingOf(r), a.places(), a.at<T>(0), a.at<T>(1));
      });
    case KernelKind::adaptivePoolForward:
      return compiled([r = tiled<Resampled>(kernel)](const A& a) {
        resampleForward<T>(a.context, r, Resampling::adaptive, a.places(), a.at<T>(0), a.at<T>(1));
      });
    case KernelKind::adaptivePoolBackward:
      return compiled([r = tiled<Resampled>(kernel)](const A& a) {
        resampleBackward<T>(a.context, r, Resampling::adaptive, a.places(), a.at<T>(0), a.at<T>(1));
      });
    case KernelKind::addBias:
      return compiled([t = tiled<Tile>(kernel)](const A& a) { addBias<T>(a.context, t, a.at(0), a.at<T>(1)); });
    case KernelKind::sumBias:
      return compiled([t = tiled<Tile>(kernel)](const A& a) { sumBias<T>(a.context, t, a.at<T>(0), a.at(1)); });
    case KernelKind::pixelCrossEntropyForward:
      return compiled([c = tiled<PixelCrossEntropy>(kernel)](const A& a) {
        pixelCrossEntropyForward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at<double>(3), a.at<double>(4));
      });
    case KernelKind::pixelCrossEntropyBackward:
      return compiled([c = tiled<PixelCrossEntropy>(kernel)](const A& a) {
        pixelCrossEntropyBackward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at<double>(3), a.at<T>(4));
      });
    case KernelKind::argmaxChannels:
      return compiled(
          [t = tiled<PlacedTile>(kernel)](const A& a) { argmaxChannels<T>(a.context, t, a.at<T>(0), a.at<std::uint8_t>(1)); });
    case KernelKind::padForward:
      return compiled([p = tiled<Pad>(kernel)](const A& a) { padForward<T>(a.context, p, a.places(), a.at<T>(0), a.at<T>(1)); });
    case KernelKind::padBackward:
      return compiled([p = tiled<Pad>(kernel)](const A& a) { padBackward<T>(a.context, p, a.places(), a.at<T>(0), a.at<T>(1)); });
    case KernelKind::pixelShuffle:
      return compiled([p = betweenTiles<PixelShuffle>(kernel)](const A& a) { pixelShuffle<T>(a.context, p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::channelShuffle:
      return compiled([s = tiled<ChannelGroups>(kernel)](const A& a) { channelShuffle<T>(a.context, s, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::globalMaxPoolForward:
      return compiled([t = tiled<PlacedTile>(kernel)](const A& a) {
        globalMaxPoolForward<T>(a.context, t, a.originInPlane(3), a.at<T>(0), a.at<Maximum>(1), a.at<T>(2));
      });
    case KernelKind::globalMaxPoolBackward:
      return compiled([t = tiled<PlacedTile>(kernel)](const A& a) {
        globalMaxPoolBackward<T>(a.context, t, a.originInPlane(3), a.at<T>(0), a.at<Maximum>(1), a.at<T>(2));
      });
    case KernelKind::copyBox: {
      const auto b = decode<CopyBox>(kernel);
      if (b.ofParameters) return compiled([b](const A& a) { copyBox(a.context, b, a.at(0), a.at(1)); });
      return compiled([b](const A& a) { copyBox<T>(a.context, b, a.at<T>(0), a.at<T>(1)); });
    }
    case KernelKind::packTile:
      return compiled([t = tiled<StridedTile>(kernel)](const A& a) { packTile<T>(a.context, t, a.at(0), a.at<T>(1)); });
    case KernelKind::unpackAddTile:
      return compiled([t = tiled<StridedTile>(kernel)](const A& a) { unpackAddTile<T>(a.context, t, a.at<T>(0), a.at(1)); });
    case KernelKind::zero:
      return compiled([z = decode<Zero>(kernel)](const A& a) { zero(a.context, z, a.at<void>(0)); });
    case KernelKind::loadImage:
      return compiled([l = tiled<LoadImage>(kernel)](const A& a) { loadImage<T>(a.context, l, a.origin(1), a.at<T>(0)); });
    case KernelKind::sgd:
      return compiled([s = decode<Sgd>(kernel)](const A& a) { sgd(a.context, s, a.at(0), a.at(1), a.at(2)); });
    case KernelKind::adam:
      return compiled([o = decode<Adam>(kernel)](const A& a) { adam(a.context, o, a.at(0), a.at(1), a.at(2), a.at(3)); });
    case KernelKind::sumSquares:
      return compiled([s = decode<Count>(kernel)](const A& a) { sumSquares(a.context, s, a.at(0), a.at<double>(1)); });
    case KernelKind::clipGradient:
      return compiled([c = decode<ClipGradient>(kernel)](const A& a) { clipGradient(a.context, c, a.at<double>(0), a.at(1)); });
    case KernelKind::squareRoot:
      return compiled([s = decode<Count>(kernel)](const A& a) { squareRoot(a.context, s, a.at<double>(0), a.at<double>(1)); });
    case KernelKind::castWeights:
      return compiled([r = decode<Count>(kernel)](const A& a) { castWeights<T>(a.context, r, a.at(0), a.at<T>(1)); });
    case KernelKind::convolutionForward:
    case KernelKind::convolutionBackwardData:
    case KernelKind::convolutionBackwardWeights:
    case KernelKind::linearForward:
    case KernelKind::linearBackwardData:
    case KernelKind::linearBackwardWeights:
      break;
  }
  throw Failure(std::string(kernelInfo(kernel.kind).name) + " is no kernel of the cuda device's own, but of its libraries");
}

}  // namespace

std::unique_ptr<CompiledKernel> compileOwn(const Kernel& kernel, const Context& context) {
  return context.precision == Precision::bf16 ? compileFor<Bfloat16>(kernel, context) : compileFor<float>(kernel, context);
}

}  // namespace tilefold::cuda
