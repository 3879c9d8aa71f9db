// Weight gradients of float in blocks of 16 channels, where the loops use AVX-512: neither side is
// packed, and a strip of pixels stays in a core's first caches while all their products are summed.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

bool fitsBlockWeightGradient(KernelKind kind, const Convolution& c);

std::size_t blockWeightGradientScratchBytes(const Convolution& c, int threads);

// A strip's sums are added in double, so that long ones keep their digits; how threads share them
// changes no bit.
Launch compileBlockWeightGradient(const Convolution& c);

}  // namespace tilefold::cpu
