// Weight gradients of depthwise convolutions: of each channel by itself, so a block of channels is
// summed lane by lane, all taps of a row of the window side by side.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// From blocks of channels to blocks of channels.
bool fitsDepthwiseWeightGradient(KernelKind kind, const Convolution& c);

// T: float or Bfloat16.
template <class T>
std::size_t depthwiseWeightGradientScratchBytes(const Convolution& c, int threads);

// Sums of some pixels are added in double, so that long ones keep their digits; how threads share
// them changes no bit.
template <class T>
Launch compileDepthwiseWeightGradient(const Convolution& c, int threads);

}  // namespace tilefold::cpu
