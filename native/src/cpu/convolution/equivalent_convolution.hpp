// Convolutions by an equivalent one, where oneDNN has compiled kernels of that alone:
// - the gradient of the input of a depthwise one without strides, as the output's gradient
//   convolved by the mirrored kernel: of dilated kernels only forward is compiled;
// - in float, groups that are small parts of a block of channels, as groups that are whole blocks,
//   most of whose weights are zero.
#pragma once
#include <optional>

#include "../operands/launch.hpp"
#include "onednn.hpp"

namespace tilefold::cpu {

struct EquivalentConvolution {
  KernelKind kind;
  Convolution convolution;
  Recipe recipe;  // oneDNN's kernel of it

  // Of its weights, with what the kernel needs.
  std::size_t scratchBytes() const;
};

// Nothing where there is none, or oneDNN has no compiled kernel. T: float or Bfloat16.
template <class T>
std::optional<EquivalentConvolution> findEquivalent(KernelKind kind, const Convolution& c);

template <class T>
Launch compileEquivalent(KernelKind kind, const Convolution& c, const EquivalentConvolution& other);

}  // namespace tilefold::cpu
