// Clipping of gradients by their norm. Semantics: reference/clipping.cpp; here the sum of squares
// is read on the device.
#include "compiled.hpp"
#include "families.hpp"
#include "reduction.cuh"

namespace tilefold::cuda {
namespace {

struct SquareTerms {
  const float* values;
  __device__ double operator()(std::int64_t k) const { return static_cast<double>(values[k]) * static_cast<double>(values[k]); }
};

void sumSquares(const Context& context, const Count& s, const float* source, double* sum) {
  forEachSum<1>(
      context, "sumSquares", 1, s.count, [=] __device__(std::int64_t) { return SquareTerms{source}; },
      [=] __device__(std::int64_t, double total) { *sum += total; });
}

void clipGradient(const Context& context, const ClipGradient& c, const double* sumSquares, float* gradient) {
  const double maxNorm = c.maxNorm;
  forEachPack(context, "clipGradient", c.count, {gradient}, [=] __device__(auto values, std::int64_t i) {
    // As clippingScale (kernels/kernel_fields.hpp).
    const double ratio = maxNorm / (sqrt(*sumSquares) + 1e-6);
    if (ratio >= 1) return;
    values.load(gradient + i);
    for (int k = 0; k < values.width; ++k) values[k] *= static_cast<float>(ratio);
    values.store(gradient + i);
  });
}

void squareRoot(const Context& context, const Count& s, const double* source, double* destination) {
  forEach(context, "squareRoot", s.count, [=] __device__(std::int64_t i) { destination[i] = sqrt(source[i]); });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileClipping(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::sumSquares:
      return compiled(context, [s = decode<Count>(kernel)](const A& a) { sumSquares(a.context, s, a.at(0), a.at<double>(1)); });
    case KernelKind::clipGradient:
      return compiled(context, [c = decode<ClipGradient>(kernel)](const A& a) { clipGradient(a.context, c, a.at<double>(0), a.at(1)); });
    case KernelKind::squareRoot:
      return compiled(context, [s = decode<Count>(kernel)](const A& a) { squareRoot(a.context, s, a.at<double>(0), a.at<double>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileClipping)

}  // namespace tilefold::cuda
