// Pointwise functions of tiles in any layout; channel padding is zero.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "launch.hpp"

namespace tilefold::cpu {

Launch pointwiseForward(const Pointwise& p);
Launch pointwiseBackward(const Pointwise& p);
Launch pointwiseSum(const PointwiseSum& s);

}  // namespace tilefold::cpu
