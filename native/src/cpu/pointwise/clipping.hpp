// The norm of gradients and their clipping, as reference/clipping.cpp defines them.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// The same bits whatever the number of threads: ranges of a fixed size are summed by themselves,
// then in their order.
Launch sumSquares(const Count& s);
Launch clipGradient(const ClipGradient& c);

}  // namespace tilefold::cpu
