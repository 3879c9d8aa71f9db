// Pointwise functions of tiles in any layout; channel padding is zero. T: float or Bfloat16.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

template <class T>
Launch pointwiseForward(const Pointwise& p);
template <class T>
Launch pointwiseBackward(const Pointwise& p);
template <class T>
Launch pointwiseSum(const PointwiseSum& s);

}  // namespace tilefold::cpu
