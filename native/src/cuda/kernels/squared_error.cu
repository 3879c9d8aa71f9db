// Mean squared error, summed in double. Semantics: reference/loss.cpp.
#include "activation.cuh"
#include "compiled.hpp"
#include "families.hpp"
#include "reduction.cuh"

namespace tilefold::cuda {
namespace {

// Differences between a tile and the target, which is plain and strided.
template <class T>
struct Differences {
  Activation tile;
  std::int64_t strideBatch, strideChannel, strideHeight;
  const T* source;
  const float* target;

  Differences(const SquaredError& s, const T* values, const float* targets)
      : tile(s.layout, s.channels, s.height, s.width),
        strideBatch(s.strideBatch),
        strideChannel(s.strideChannel),
        strideHeight(s.strideHeight),
        source(values),
        target(targets) {}

  __device__ double at(std::int64_t i) const {
    const Place p = tile.place(i);
    const float wanted = target[p.image * strideBatch + p.channel * strideChannel + p.row * strideHeight + p.column];
    return static_cast<double>(source[i]) - static_cast<double>(wanted);
  }
  // As a term of the sum: its square.
  __device__ double operator()(std::int64_t i) const {
    const double difference = at(i);
    return difference * difference;
  }
};

std::int64_t squaredElements(const Tile& t) { return t.batch * t.channels * t.height * t.width; }

template <class T>
void meanSquaredErrorForward(const Context& context, const SquaredError& s, const T* source, const float* target, double* loss) {
  const Differences<T> differences(s, source, target);
  const double count = static_cast<double>(s.count);
  forEachSum<1>(
      context, "meanSquaredErrorForward", 1, squaredElements(s), [=] __device__(std::int64_t) { return differences; },
      [=] __device__(std::int64_t, double sum) { *loss += sum / count; });
}

template <class T>
void meanSquaredErrorBackward(const Context& context, const SquaredError& s, const T* source, const float* target, T* sourceGradient) {
  const Differences<T> differences(s, source, target);
  const double count = static_cast<double>(s.count);
  forEach(context, "meanSquaredErrorBackward", squaredElements(s),
          [=] __device__(std::int64_t i) { sourceGradient[i] = static_cast<T>(2 * differences.at(i) / count); });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileSquaredError(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::meanSquaredErrorForward:
      return compiled(context, [s = tiled<SquaredError>(kernel)](const A& a) {
        meanSquaredErrorForward<T>(a.context, s, a.at<T>(0), a.at(1), a.at<double>(2));
      });
    case KernelKind::meanSquaredErrorBackward:
      return compiled(context, [s = tiled<SquaredError>(kernel)](const A& a) {
        meanSquaredErrorBackward<T>(a.context, s, a.at<T>(0), a.at(1), a.at<T>(2));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileSquaredError)

}  // namespace tilefold::cuda
