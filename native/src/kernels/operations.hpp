// What each operation of an expression computes, once for all devices.
#pragma once
#include <math.h>

#include "../generated/operations.hpp"
#include "exponential.hpp"
#include "host_device.hpp"

namespace tilefold {

// By the C library's own names: of those it has vectors.
namespace mathematics {
#ifdef __CUDA_ARCH__
TILEFOLD_HOST_DEVICE_INLINE float exp(float x) { return ::expf(x); }
#else
TILEFOLD_HOST_DEVICE_INLINE float exp(float x) { return exponential(x); }
#endif
TILEFOLD_HOST_DEVICE_INLINE double exp(double x) { return ::exp(x); }
TILEFOLD_HOST_DEVICE_INLINE float expm1(float x) { return ::expm1f(x); }
TILEFOLD_HOST_DEVICE_INLINE double expm1(double x) { return ::expm1(x); }
TILEFOLD_HOST_DEVICE_INLINE float log(float x) { return ::logf(x); }
TILEFOLD_HOST_DEVICE_INLINE double log(double x) { return ::log(x); }
TILEFOLD_HOST_DEVICE_INLINE float log1p(float x) { return ::log1pf(x); }
TILEFOLD_HOST_DEVICE_INLINE double log1p(double x) { return ::log1p(x); }
TILEFOLD_HOST_DEVICE_INLINE float sqrt(float x) { return ::sqrtf(x); }
TILEFOLD_HOST_DEVICE_INLINE double sqrt(double x) { return ::sqrt(x); }
TILEFOLD_HOST_DEVICE_INLINE float tanh(float x) { return ::tanhf(x); }
TILEFOLD_HOST_DEVICE_INLINE double tanh(double x) { return ::tanh(x); }
TILEFOLD_HOST_DEVICE_INLINE float erf(float x) { return ::erff(x); }
TILEFOLD_HOST_DEVICE_INLINE double erf(double x) { return ::erf(x); }
}  // namespace mathematics

// Of float or double; comparisons are 1 or 0. Operands that the operation does not have are not
// looked at.
template <Operation operation, class T>
TILEFOLD_HOST_DEVICE_INLINE T compute(T a, [[maybe_unused]] T b, [[maybe_unused]] T c) {
  if constexpr (operation == Operation::neg) return -a;
  if constexpr (operation == Operation::exp) return mathematics::exp(a);
  if constexpr (operation == Operation::expm1) return mathematics::expm1(a);
  if constexpr (operation == Operation::log) return mathematics::log(a);
  if constexpr (operation == Operation::log1p) return mathematics::log1p(a);
  if constexpr (operation == Operation::sqrt) return mathematics::sqrt(a);
  if constexpr (operation == Operation::tanh) return mathematics::tanh(a);
  if constexpr (operation == Operation::erf) return mathematics::erf(a);
  if constexpr (operation == Operation::sigmoid) return 1 / (1 + mathematics::exp(-a));
  if constexpr (operation == Operation::detach) return a;
  if constexpr (operation == Operation::add) return a + b;
  if constexpr (operation == Operation::sub) return a - b;
  if constexpr (operation == Operation::mul) return a * b;
  if constexpr (operation == Operation::div) return a / b;
  // NaN where either is.
  if constexpr (operation == Operation::minimum) return a < b || a != a ? a : b;
  if constexpr (operation == Operation::maximum) return a > b || a != a ? a : b;
  if constexpr (operation == Operation::less) return a < b ? T(1) : T(0);
  if constexpr (operation == Operation::lessEqual) return a <= b ? T(1) : T(0);
  if constexpr (operation == Operation::where) return a != 0 ? b : c;
}

// What the leaves of an expression are for one element.
template <class T>
struct Leaves {
  T input, second, gradient, weight, bias;
};

// One step of an expression that no compiler knows.
template <class T>
TILEFOLD_HOST_DEVICE T computeStep(Operation operation, T a, T b, T c, T constant, const Leaves<T>& leaves) {
  switch (operation) {
    case Operation::input:
      return leaves.input;
    case Operation::second:
      return leaves.second;
    case Operation::gradient:
      return leaves.gradient;
    case Operation::weight:
      return leaves.weight;
    case Operation::bias:
      return leaves.bias;
    case Operation::constant:
      return constant;
#define TILEFOLD_CASE(name)  \
  case Operation::name: \
    return compute<Operation::name>(a, b, c);
      TILEFOLD_OPERATIONS(TILEFOLD_CASE)
#undef TILEFOLD_CASE
  }
  return T(0);
}

}  // namespace tilefold
