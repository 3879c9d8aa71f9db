// Normalisation with the sum that follows it.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../../kernels/normalisation.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

// What a normalisation's output is added to, what rectifies the sum, and where that goes: it may be
// where `other` is. The output itself goes to `normalised`, null where nobody reads it.
template <class T>
struct SumBehind {
  const T* other;
  double slope;
  T *destination, *normalised;
};

// Enqueues.
template <class T>
void normaliseForwardAndAdd(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, const SumBehind<T>& sum);

}  // namespace tilefold::cuda
