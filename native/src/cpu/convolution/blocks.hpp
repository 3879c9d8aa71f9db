// Convolutions by our own loops, for every shape and layout that oneDNN has no compiled kernel for:
// any groups, dilation, stride and padding. Channels go in blocks of 8 or 16; a pair of blocks is
// one small matrix a tap, zero where the two channels share no group.
#pragma once
#include "../operands/launch.hpp"
#include "../operands/strides.hpp"

namespace tilefold::cpu {

// T, float or Bfloat16: of activations and of the weights that are read.
template <class T>
std::size_t blockConvolutionScratchBytes(KernelKind kind, const Convolution& c, int threads);

// Throws Failure when the two activations are in blocks of different sizes, or the destination is
// plain.
template <class T>
Launch compileBlockConvolution(KernelKind kind, const Convolution& c, int threads);

}  // namespace tilefold::cpu
