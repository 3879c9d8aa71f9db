// Gradients of inputs of depthwise convolutions without strides, as convolutions of the output's
// gradient by the mirrored kernel: oneDNN has compiled kernels of dilated ones for forward alone.
#pragma once
#include <optional>

#include "launch.hpp"
#include "onednn.hpp"

namespace tilefold::cpu {

// A forward convolution in place of a gradient, and oneDNN's kernel of it.
struct MirroredConvolution {
  Convolution forward;
  Recipe recipe;

  // Of the mirrored weights, with what the kernel needs.
  std::size_t scratchBytes() const;
};

// Nothing where `kind` and `c` are no such gradient from blocks of channels to blocks of channels,
// or oneDNN has no compiled kernel. T: float or Bfloat16.
template <class T>
std::optional<MirroredConvolution> findMirroredConvolution(KernelKind kind, const Convolution& c);

template <class T>
Launch compileMirroredConvolution(const Convolution& c, const MirroredConvolution& mirrored);

}  // namespace tilefold::cpu
