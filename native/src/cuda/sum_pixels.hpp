// Sums over the pixels of a tile, plain or nhwc. Semantics: reference/pooling.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

template <class T>
void sumPixelsForward(const Context& context, const SumPixels& s, const T* source, float* sum);
template <class T>
void sumPixelsBackward(const Context& context, const SumPixels& s, const T* sumGradient, T* sourceGradient);

}  // namespace tilefold::cuda
