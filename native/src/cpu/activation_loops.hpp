// Smooth activation functions over contiguous floats, by the mathematics library's vector functions where it has them.
// An element's result does not depend on where it stands.
#pragma once
#include <cstdint>

#include "../kernel_fields.hpp"

namespace tilefold::cpu {

// Source and destination may coincide.
void activate(ActivationFunction function, const float* source, float* destination, std::int64_t count);
// `kept`: the output of sigmoid and tanh, the input of silu and gelu. The gradients may coincide.
void activateGradient(ActivationFunction function, const float* kept, const float* gradient, float* sourceGradient, std::int64_t count);

}  // namespace tilefold::cpu
