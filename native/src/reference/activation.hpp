// Smooth activation functions and their gradients, element by element; channel padding stays zero.
#pragma once
#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"

namespace tilefold::reference {

// Source and destination may coincide.
template <class T>
void activationForward(const Activation& a, const T* source, T* destination);
// `kept`: the output of sigmoid and tanh, the input of silu and gelu. The gradients may coincide.
template <class T>
void activationBackward(const Activation& a, const T* kept, const T* destinationGradient, T* sourceGradient);

}  // namespace tilefold::reference
