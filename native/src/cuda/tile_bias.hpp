// A bias on its own, where no convolution adds it (bias.hpp is of those that do); plain or nhwc.
// Semantics: reference/bias.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

template <class T>
void addBias(const Context& context, const Tile& t, const float* bias, T* destination);
template <class T>
void sumBias(const Context& context, const Tile& t, const T* destinationGradient, float* biasGradient);

}  // namespace tilefold::cuda
