// Convolutions of bf16 by AMX: the loops that take a convolution's layouts.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

bool fitsAmx(KernelKind kind, const Convolution& c, int threads);

// These are of what fits alone.
std::size_t amxScratchBytes(KernelKind kind, const Convolution& c, int threads);
Launch compileAmx(KernelKind kind, const Convolution& c, int threads);

}  // namespace tilefold::cpu
