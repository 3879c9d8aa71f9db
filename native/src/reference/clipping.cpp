// Clipping of gradients by the norm of all of them together, as torch.nn.utils.clip_grad_norm_
// (Pascanu, Mikolov, Bengio 2013).
#include <cmath>

#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// sum += the squares of source, in double.
template <class T>
void sumSquares(const Count& s, const T* source, double* sum) {
  double squares = 0;
  for (std::int64_t i = 0; i < s.count; ++i) squares += static_cast<double>(source[i]) * static_cast<double>(source[i]);
  *sum += squares;
}

// gradient *= min(1, maxNorm / (sqrt(sumSquares) + 1e-6)).
template <class T>
void clipGradient(const ClipGradient& c, double sumSquares, T* gradient) {
  const T scale = static_cast<T>(clippingScale(c, sumSquares));
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < c.count; ++i) gradient[i] *= scale;
}

void squareRoot(const Count& s, const double* source, double* destination) {
  for (std::int64_t i = 0; i < s.count; ++i) destination[i] = std::sqrt(source[i]);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileClipping(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::sumSquares:
      return compiled([s = decode<Count>(kernel)](const A& a) { sumSquares<P>(s, a.at<P>(0), a.at<double>(1)); });
    case KernelKind::clipGradient:
      return compiled([c = decode<ClipGradient>(kernel)](const A& a) { clipGradient<P>(c, *a.at<double>(0), a.at<P>(1)); });
    case KernelKind::squareRoot:
      return compiled([s = decode<Count>(kernel)](const A& a) { squareRoot(s, a.at<double>(0), a.at<double>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileClipping)

}  // namespace tilefold::reference
