// Resizing and adaptive pooling (resampling.hpp) in blocked layouts.
#pragma once
#include "../kernels/resampling.hpp"
#include "launch.hpp"

namespace tilefold::cpu {

// Throws Failure at the launch where an output needs an input that is beside the tile.
Launch resampleForward(const Resampled& r, Resampling kind);
Launch resampleBackward(const Resampled& r, Resampling kind);

}  // namespace tilefold::cpu
