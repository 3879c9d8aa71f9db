// Normalisation with the sum that follows it.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "compiled.hpp"

namespace tilefold::cuda {

// What a normalisation's output is added to, what rectifies the sum, and where that goes.
template <class T>
struct SumBehind {
  const T* other;
  double slope;
  T* destination;
};

// Enqueues a normaliseForward with these arguments and the sum. The output itself is stored where
// `stores` holds; `destination` may be it, or `other`.
template <class T>
void normaliseForwardAndAdd(const Normalise& n, const Arguments& arguments, const SumBehind<T>& sum, bool stores);

}  // namespace tilefold::cuda
