// A bias on its own, in blocked layouts, beside activations of T: float or Bfloat16.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

template <class T>
Launch addBias(const Tile& t);
// The same bits for any number of threads.
template <class T>
Launch sumBias(const Tile& t);
// Of the destination's gradient.
template <class T>
Launch sumBiasOf(const Convolution& c);

}  // namespace tilefold::cpu
