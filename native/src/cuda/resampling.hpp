// Resizing and adaptive pooling (../resampling.hpp) of tiles, plain or nhwc. Semantics:
// reference/resampling.hpp; backward gathers.
#pragma once
#include "../resampling.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// Throws Failure where an output needs an input that is beside the tile.
template <class T>
void resampleForward(const Context& context, const Resampled& r, Resampling kind, const ResampledAt& at, const T* source, T* destination);
template <class T>
void resampleBackward(const Context& context, const Resampled& r, Resampling kind, const ResampledAt& at, const T* destinationGradient,
                      T* sourceGradient);

}  // namespace tilefold::cuda
