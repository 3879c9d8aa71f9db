// Smooth activation functions, computed in float32. Semantics: reference/activation.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// Source and destination may coincide.
template <class T>
void activationForward(const Context& context, const tilefold::Activation& a, const T* source, T* destination);
// Either gradient may be the other.
template <class T>
void activationBackward(const Context& context, const tilefold::Activation& a, const T* kept, const T* destinationGradient,
                        T* sourceGradient);

}  // namespace tilefold::cuda
