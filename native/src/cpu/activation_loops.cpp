#include "activation_loops.hpp"

#include <math.h>

#include <algorithm>

#include "lanes.hpp"

// The C library has vectors of these functions, but declares them under -ffast-math only, which would take infinities and NaN away.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 35)
extern "C" {
__attribute__((simd("notinbranch"))) float expf(float) noexcept;
__attribute__((simd("notinbranch"))) float tanhf(float) noexcept;
__attribute__((simd("notinbranch"))) float erff(float) noexcept;
}
#endif
#endif

namespace tilefold::cpu {
namespace {

constexpr std::int64_t width = 16;
constexpr float rootOfHalf = 0.70710678118654752F, densityAtZero = 0.39894228040143268F;

TILEFOLD_INLINE float sigmoid(float x) { return 1 / (1 + expf(-x)); }
TILEFOLD_INLINE float cumulative(float x) { return 0.5F * (1 + erff(x * rootOfHalf)); }

// element(kept, gradient) for every element. The rest that fills no vector is computed in one all the same: the vector functions round
// differently from the scalar ones.
template <class Element>
TILEFOLD_INLINE void forElements(const float* kept, const float* gradient, float* result, std::int64_t count, const Element& element) {
  const std::int64_t whole = count / width * width, rest = count - whole;
#pragma omp simd simdlen(16)
  for (std::int64_t i = 0; i < whole; ++i) result[i] = element(kept[i], gradient[i]);
  if (rest == 0) return;
  float lastKept[width] = {}, lastGradient[width] = {}, last[width];
  std::copy_n(kept + whole, rest, lastKept);
  std::copy_n(gradient + whole, rest, lastGradient);
#pragma omp simd simdlen(16)
  for (std::int64_t i = 0; i < width; ++i) last[i] = element(lastKept[i], lastGradient[i]);
  std::copy_n(last, rest, result + whole);
}

}  // namespace

TILEFOLD_CLONES void activate(ActivationFunction function, const float* source, float* destination, std::int64_t count) {
  switch (function) {
    case ActivationFunction::sigmoid:
      return forElements(source, source, destination, count, [](float x, float) { return sigmoid(x); });
    case ActivationFunction::tanh:
      return forElements(source, source, destination, count, [](float x, float) { return tanhf(x); });
    case ActivationFunction::silu:
      return forElements(source, source, destination, count, [](float x, float) { return x * sigmoid(x); });
    case ActivationFunction::gelu:
      return forElements(source, source, destination, count, [](float x, float) { return x * cumulative(x); });
  }
}

TILEFOLD_CLONES void activateGradient(ActivationFunction function, const float* kept, const float* gradient, float* sourceGradient,
                                      std::int64_t count) {
  switch (function) {
    case ActivationFunction::sigmoid:
      return forElements(kept, gradient, sourceGradient, count, [](float y, float dy) { return dy * (y * (1 - y)); });
    case ActivationFunction::tanh:
      return forElements(kept, gradient, sourceGradient, count, [](float y, float dy) { return dy * (1 - y * y); });
    case ActivationFunction::silu:
      return forElements(kept, gradient, sourceGradient, count, [](float x, float dy) {
        const float s = sigmoid(x);
        return dy * (s * (1 + x * (1 - s)));
      });
    case ActivationFunction::gelu:
      return forElements(kept, gradient, sourceGradient, count,
                         [](float x, float dy) { return dy * (cumulative(x) + x * (densityAtZero * expf(-0.5F * x * x))); });
  }
}

}  // namespace tilefold::cpu
