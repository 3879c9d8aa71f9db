// Resizing and adaptive pooling (../resampling.hpp) of tiles, plain or nhwc. Semantics: reference/resampling.hpp; backward gathers.
#pragma once
#include "../resampling.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// Throws Failure where an output needs an input that is beside the tile.
void resampleForward(const Context& context, const Resampled& r, Resampling kind, const ResampledAt& at, const float* source,
                     float* destination);
void resampleBackward(const Context& context, const Resampled& r, Resampling kind, const ResampledAt& at, const float* destinationGradient,
                      float* sourceGradient);

}  // namespace tilefold::cuda
