// Element by element: rectifiers, sums and dropout. Semantics: reference/pointwise.cpp.
#include "../../kernels/rectifier.hpp"
#include "activation.cuh"
#include "compiled.hpp"
#include "copy_rows.hpp"
#include "element_loop.cuh"
#include "families.hpp"
#include "max_pool.hpp"
#include "normalise.hpp"

namespace tilefold::cuda {
namespace {

// ElementDraw of kernels/element_draw.hpp, on the device.
__device__ std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

__device__ double draw(std::uint64_t key, std::int64_t element) {
  return static_cast<double>(mix(key + static_cast<std::uint64_t>(element) * 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53;
}

template <class T>
void rectifierForward(const Context& context, const Rectifier& r, const T* source, T* destination) {
  const float slope = static_cast<float>(r.slope);
  forEachPack<T>(context, "rectifierForward", r.count, {source, destination}, [=] __device__(auto values, std::int64_t i) {
    values.load(source + i);
    for (int k = 0; k < values.width; ++k) values[k] = rectified(values[k], slope);
    values.store(destination + i);
  });
}

template <class T>
void rectifierBackward(const Context& context, const Rectifier& r, const T* destination, const T* destinationGradient, T* sourceGradient) {
  const float slope = static_cast<float>(r.slope);
  forEachPack<T>(context, "rectifierBackward", r.count, {destination, destinationGradient, sourceGradient},
                 [=] __device__(auto values, std::int64_t i) {
                   auto gradient = values;
                   values.load(destination + i);
                   gradient.load(destinationGradient + i);
                   for (int k = 0; k < values.width; ++k) gradient[k] = rectified(values[k], gradient[k], slope);
                   gradient.store(sourceGradient + i);
                 });
}

// The gradient is `added` to before it passes the rectifier, in its place.
template <class T>
void addAndPass(const Context& context, const Rectifier& r, const T* destination, const T* added, T* gradient) {
  const float slope = static_cast<float>(r.slope);
  forEachPack<T>(context, "rectifierBackward", r.count, {destination, added, gradient}, [=] __device__(auto values, std::int64_t i) {
    auto addend = values, sum = values;
    values.load(destination + i);
    addend.load(added + i);
    sum.load(gradient + i);
    for (int k = 0; k < values.width; ++k)
      sum[k] = rectified(values[k], static_cast<float>(static_cast<T>(sum[k] + addend[k])), slope);
    sum.store(gradient + i);
  });
}

// With what came before it, where that made the gradient that passes the rectifier in its place.
template <class T>
std::function<void()> rectifierBackwardWith(const Context& context, const Rectifier& r, const std::vector<WaitingLaunch>& before,
                                            const LaunchOperands& own) {
  const T* const output = own.at<T>(0);
  T* const gradient = own.at<T>(2);
  const LaunchOperands first{before.back().operands};
  const Kernel& kernel = *before.back().kernel;
  if (before.size() > 1 || own.at<T>(1) != gradient) return nullptr;
  if (kernel.kind == KernelKind::copyBox) {
    if (first.at<T>(1) != gradient || !addsWhole(decode<CopyBox>(kernel), r.count)) return nullptr;
    return [&context, r, output, added = first.at<T>(0), gradient] { addAndPass<T>(context, r, output, added, gradient); };
  }
  if (kernel.kind != KernelKind::maxPoolBackward || first.at<T>(2) != gradient) return nullptr;
  const auto p = decode<Pool>(kernel);
  if (r.count != p.batch * p.inChannels * p.inHeight * p.inWidth) return nullptr;
  return [&context, p, pooled = first.at<T>(0), indices = first.at<void>(1), gradient,
          rectifier = RectifierBefore<T>{output, static_cast<float>(r.slope)}] {
    maxPoolBackward<T>(context, p, pooled, indices, gradient, rectifier);
  };
}

template <class T>
void addForward(const Context& context, const Rectifier& r, const T* first, const T* second, T* destination) {
  const float slope = static_cast<float>(r.slope);
  forEachPack<T>(context, "addForward", r.count, {first, second, destination}, [=] __device__(auto values, std::int64_t i) {
    auto other = values;
    values.load(first + i);
    other.load(second + i);
    for (int k = 0; k < values.width; ++k) values[k] = rectified(values[k] + other[k], slope);
    values.store(destination + i);
  });
}

// With a normalisation that made one of its sources, where the sum takes a source's place:
// elsewhere it might take that of what the normalisation read.
template <class T>
std::function<void()> addForwardWith(const Context& context, const Rectifier& r, const std::vector<WaitingLaunch>& before,
                                     const LaunchOperands& own) {
  const Kernel& kernel = *before.back().kernel;
  if (before.size() > 1 || kernel.kind != KernelKind::normaliseForward) return nullptr;
  const auto n = decode<Normalise>(kernel);
  const LaunchOperands of{before.back().operands};
  T *const normalised = of.at<T>(4), *const destination = own.at<T>(2);
  const T *const first = own.at<T>(0), *const second = own.at<T>(1), *const other = first == normalised ? second : first;
  if ((first == normalised) == (second == normalised) || (destination != first && destination != second)) return nullptr;
  if (r.count != n.batch * n.channels * n.height * n.width) return nullptr;
  const NormaliseOperands<T> operands{of.at<T>(0), of.at<Moments>(1), of.at<float>(2), of.at<float>(3), nullptr};
  const SumBehind<T> sum{other, r.slope, destination, destination == normalised ? nullptr : normalised};
  return [&context, n, operands, sum] { normaliseForwardAndAdd<T>(context, n, operands, sum); };
}

template <class T>
void dropout(const Context& context, const Dropout& d, const TileOrigin& origin, const T* source, T* destination) {
  const Activation tile(d.layout, d.channels, d.height, d.width);
  const StepBlock* step = context.step;
  const double rate = d.rate, keptScale = 1 / (1 - d.rate);
  const std::int64_t fullChannels = d.fullChannels, fullHeight = d.fullHeight, fullWidth = d.fullWidth;
  const auto layerKey = static_cast<std::uint64_t>(d.layerKey);
  forEachPack<T>(context, "dropout", d.batch * d.channels * d.height * d.width, {source, destination},
                 [=] __device__(auto values, std::int64_t i) {
                   const std::uint64_t key = mix(mix(mix(step->seed) + step->step) + layerKey);
                   values.load(source + i);
                   for (int k = 0; k < values.width; ++k) {
                     const Place at = tile.place(i + k);
                     const std::int64_t channel = (origin.batch + at.image) * fullChannels + at.channel;
                     const std::int64_t element = (channel * fullHeight + origin.row + at.row) * fullWidth + origin.column + at.column;
                     const double kept = static_cast<double>(values[k]) * keptScale;
                     values[k] = draw(key, element) >= rate ? static_cast<float>(kept) : 0.0F;
                   }
                   values.store(destination + i);
                 });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compilePointwise(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::rectifierForward:
      return compiled(context, [r = decode<Rectifier>(kernel)](const A& a) { rectifierForward<T>(a.context, r, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::rectifierBackward: {
      const auto r = decode<Rectifier>(kernel);
      return compiledWaiting(
          context, kernel, [r](const A& a) { rectifierBackward<T>(a.context, r, a.at<T>(0), a.at<T>(1), a.at<T>(2)); },
          [&context, r](const auto& before, const auto& operands) { return rectifierBackwardWith<T>(context, r, before, {operands}); });
    }
    case KernelKind::addForward: {
      const auto r = decode<Rectifier>(kernel);
      return compiledWith(
          context, [r](const A& a) { addForward<T>(a.context, r, a.at<T>(0), a.at<T>(1), a.at<T>(2)); },
          [&context, r](const auto& before, const auto& operands) { return addForwardWith<T>(context, r, before, {operands}); });
    }
    case KernelKind::dropout:
      return compiled(context, [d = tiled<Dropout>(kernel)](const A& a) { dropout<T>(a.context, d, a.origin(2), a.at<T>(0), a.at<T>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compilePointwise)

}  // namespace tilefold::cuda
