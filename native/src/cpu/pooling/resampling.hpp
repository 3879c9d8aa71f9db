// Resizing and adaptive pooling (resampling.hpp) in blocked layouts, of T: float or
// Bfloat16.
#pragma once
#include "../../kernels/resampling.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// Throws Failure at the launch where an output needs an input that is beside the tile.
template <class T>
Launch resampleForward(const Resampled& r, Resampling kind);
template <class T>
Launch resampleBackward(const Resampled& r, Resampling kind);

}  // namespace tilefold::cpu
