// Smooth activation functions in float32. Semantics: reference/activation.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// Source and destination may coincide.
void activationForward(const Context& context, const tilefold::Activation& a, const float* source, float* destination);
// Either gradient may be the other.
void activationBackward(const Context& context, const tilefold::Activation& a, const float* kept, const float* destinationGradient,
                        float* sourceGradient);

}  // namespace tilefold::cuda
