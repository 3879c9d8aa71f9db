// Resizing and adaptive pooling (resampling.hpp) of tiles, in any activation layout; padding lanes
// stay zero.
#pragma once
#include "../bfloat16.hpp"
#include "../resampling.hpp"

namespace tilefold::reference {

// Throws Failure where an output needs an input that is beside the tile.
template <class T>
void resampleForward(const Resampled& r, Resampling kind, const ResampledAt& at, const T* source, T* destination);

// The part of the source's gradient that comes from the outputs of the tile.
template <class T>
void resampleBackward(const Resampled& r, Resampling kind, const ResampledAt& at, const T* destinationGradient, T* sourceGradient);

}  // namespace tilefold::reference
