// Weight gradients of bf16 by AMX, of one group in blocks of 16 channels: strips of pixels are
// packed once, as the registers take them, and stay in a core's cache while all that they give is
// summed.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

bool fitsAmxWeightGradient(KernelKind kind, const Convolution& c, int threads);

std::size_t amxWeightGradientScratchBytes(const Convolution& c, int threads);

// Each strip is a sum of its own in float; the number of threads changes no bit.
Launch compileAmxWeightGradient(const Convolution& c, int threads);

}  // namespace tilefold::cpu
