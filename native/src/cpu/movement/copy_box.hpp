// Rows of a box from one place to another, or added there.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// T: float or Bfloat16.
template <class T>
Launch copyBox(const CopyBox& b);

}  // namespace tilefold::cpu
