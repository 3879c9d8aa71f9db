// A bias on its own, where no convolution adds it; in any activation layout, padding lanes stay as
// they are.
#pragma once
#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"

namespace tilefold::reference {

template <class T>
void addBias(const Tile& t, const ParameterOf<T>* bias, T* destination);

// Sums over images and pixels, formed in double.
template <class T>
void sumBias(const Tile& t, const T* destinationGradient, ParameterOf<T>* biasGradient);

}  // namespace tilefold::reference
