// Convolutions of images of few channels, one plane each, by AMX: a row of a register holds what a
// row of the kernel reads.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

bool fitsAmxFewChannels(KernelKind kind, const Convolution& c);

std::size_t amxFewChannelsScratchBytes(const Convolution& c, int threads);

Launch compileAmxFewChannels(const Convolution& c, int threads);

}  // namespace tilefold::cpu
