// Losses of values, by an expression of each element in float32, summed in double. Semantics:
// reference/loss.cpp.
#include "activation.cuh"
#include "compiled.hpp"
#include "families.hpp"
#include "interpreted.cuh"
#include "reduction.cuh"

namespace tilefold::cuda {
namespace {

// The expression at the elements of a tile and of the target, which is plain and strided; 0 where
// that is NaN.
template <class T>
struct Elements {
  Activation tile;
  std::int64_t strideBatch, strideChannel, strideHeight;
  Interpreted function;
  const T* source;
  const float* target;
  const float* rowWeights;

  Elements(const ValueLoss& v, const T* values, const float* targets, const float* weights)
      : tile(v.layout, v.channels, v.height, v.width),
        strideBatch(v.strideBatch),
        strideChannel(v.strideChannel),
        strideHeight(v.strideHeight),
        function(v.expression),
        source(values),
        target(targets),
        rowWeights(weights) {}

  __device__ double weight(const Place& p) const { return rowWeights == nullptr ? 1 : static_cast<double>(rowWeights[p.image]); }
  __device__ float at(std::int64_t i, const Place& p, float gradient) const {
    const float wanted = target[p.image * strideBatch + p.channel * strideChannel + p.row * strideHeight + p.column];
    return wanted == wanted ? function({static_cast<float>(source[i]), wanted, gradient, 0.0F, 0.0F}) : 0.0F;
  }
  // As a term of the sum.
  __device__ double operator()(std::int64_t i) const {
    const Place p = tile.place(i);
    return weight(p) * static_cast<double>(at(i, p, 0.0F));
  }
};

std::int64_t count(const Tile& t) { return t.batch * t.channels * t.height * t.width; }

template <class T>
void valueLossForward(const Context& context, const ValueLoss& v, const T* source, const float* target, const float* rowWeights,
                      const double* normaliser, double* loss) {
  const Elements<T> elements(v, source, target, rowWeights);
  forEachSum<1>(
      context, "valueLossForward", 1, count(v), [=] __device__(std::int64_t) { return elements; },
      [=] __device__(std::int64_t, double sum) {
        if (sum != 0) *loss += sum / *normaliser;
      });
}

template <class T>
void valueLossBackward(const Context& context, const ValueLoss& v, const T* source, const float* target, const float* rowWeights,
                       const double* normaliser, T* sourceGradient) {
  const Elements<T> elements(v, source, target, rowWeights);
  forEach(context, "valueLossBackward", count(v), [=] __device__(std::int64_t i) {
    const Place p = elements.tile.place(i);
    sourceGradient[i] = static_cast<T>(elements.at(i, p, static_cast<float>(elements.weight(p) / *normaliser)));
  });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileValueLoss(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::valueLossForward:
      return compiled(context, [v = tiled<ValueLoss>(kernel)](const A& a) {
        valueLossForward<T>(a.context, v, a.at<T>(0), a.at(1), a.at(2), a.at<double>(3), a.at<double>(4));
      });
    case KernelKind::valueLossBackward:
      return compiled(context, [v = tiled<ValueLoss>(kernel)](const A& a) {
        valueLossBackward<T>(a.context, v, a.at<T>(0), a.at(1), a.at(2), a.at<double>(3), a.at<T>(4));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileValueLoss)

}  // namespace tilefold::cuda
