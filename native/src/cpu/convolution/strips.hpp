// Convolutions of one group in blocks of 16 channels whose padding or dilation oneDNN has no
// compiled kernel for, or a slow one: strips of results stay in registers while whole blocks of
// channels are added, of the taps that lie inside the image alone. Weights are read as they lie.
#pragma once
#include "../operands/launch.hpp"
#include "../operands/strides.hpp"

namespace tilefold::cpu {

// T, of activations and weights: float, or Bfloat16 where the processor multiplies pairs of it.

// The layout of the weights that these kernels read.
template <class T>
Layout stripWeightLayout(KernelKind kind);

// Whether they do this kernel: a forward convolution, or a gradient of the input without strides
// along rows.
template <class T>
bool fitsStrips(KernelKind kind, const Convolution& c);

// Results of bf16 are summed in float, in scratch.
template <class T>
std::size_t stripConvolutionScratchBytes(KernelKind kind, const Convolution& c, int threads);

// The results' bits do not depend on `threads`.
template <class T>
Launch compileStripConvolution(KernelKind kind, const Convolution& c, int threads);

}  // namespace tilefold::cpu
