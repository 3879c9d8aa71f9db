// Weight gradients of bf16, where the processor multiplies it: strips of pixels are packed once, as
// the instruction reads them, and stay in a core's cache while all that they give is summed.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

bool fitsPairWeightGradient(KernelKind kind, const Convolution& c, int threads);

std::size_t pairWeightGradientScratchBytes(const Convolution& c, int threads);

// Each strip is a sum of its own in float; the number of threads changes no bit.
Launch compilePairWeightGradient(const Convolution& c, int threads);

}  // namespace tilefold::cpu
