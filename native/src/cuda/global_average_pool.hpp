// Sums over the pixels of a tile, plain or nhwc. Semantics: reference/pooling.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

template <class T>
void globalAveragePoolForward(const Context& context, const GlobalAveragePool& s, const T* source, float* sum);
template <class T>
void globalAveragePoolBackward(const Context& context, const GlobalAveragePool& s, const T* sumGradient, T* sourceGradient);

}  // namespace tilefold::cuda
