// Convolutions and gradients of their inputs by AMX, of one group, bf16 in blocks of 16 channels:
// what a band of results reads is packed once, padding included, and stays in a core's cache while
// all blocks of results are summed.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// The layout of the weights that these kernels read.
Layout amxWeightLayout(KernelKind kind);

// Whether they do this kernel.
bool fitsAmxCorrelation(KernelKind kind, const Convolution& c);

std::size_t amxCorrelationScratchBytes(KernelKind kind, const Convolution& c, int threads);

// The results' bits do not depend on `threads`.
Launch compileAmxCorrelation(KernelKind kind, const Convolution& c, int threads);

}  // namespace tilefold::cpu
