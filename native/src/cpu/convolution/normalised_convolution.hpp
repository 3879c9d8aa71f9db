// 1x1 convolutions that normalise and rectify what they read, a strip of pixels after the other,
// into scratch that stays in a core's cache, by what convolves what is stored: oneDNN's primitives,
// or AMX.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// T: float or Bfloat16. `kind` is one of the two. Throws Failure where oneDNN has no such kernel,
// or no weights in blocks as wide as the activations'.
template <class T>
std::size_t normalisedConvolutionScratchBytes(KernelKind kind, const NormalisedConvolution& c, int threads);
template <class T>
Implementation compileNormalisedConvolution(KernelKind kind, const NormalisedConvolution& c, int threads);

}  // namespace tilefold::cpu
