// Convolutions by oneDNN's direct kernels (float32, scratchpad in the arena).
#pragma once
#include "launch.hpp"
#include "onednn.hpp"

namespace tilefold::cpu {

// `kind` is one of the three convolutions. Nothing when oneDNN has no compiled kernel for this
// shape in these layouts.
std::optional<Recipe> findDirectConvolution(KernelKind kind, const Convolution& c);

Launch compileDirectConvolution(KernelKind kind, const Convolution& c, const Recipe& recipe);

}  // namespace tilefold::cpu
