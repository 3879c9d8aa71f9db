// Convolutions by oneDNN's direct kernels (activations and the weights that they read of T: float
// or Bfloat16; scratchpad in the arena).
#pragma once
#include "../operands/launch.hpp"
#include "onednn.hpp"

namespace tilefold::cpu {

// `kind` is one of the three convolutions. Nothing when oneDNN has no compiled kernel for this
// shape in these layouts, or one of bf16 would be slower than of float.
template <class T>
std::optional<Recipe> findDirectConvolution(KernelKind kind, const Convolution& c);

template <class T>
Launch compileDirectConvolution(KernelKind kind, const Convolution& c, const Recipe& recipe);

}  // namespace tilefold::cpu
