// Average pooling, plain or nhwc. Semantics: reference/pooling.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

template <class T>
void averagePoolForward(const Context& context, const AveragePool& p, const T* source, T* destination);
// Every input pixel gathers from the windows over it.
template <class T>
void averagePoolBackward(const Context& context, const AveragePool& p, const T* destinationGradient, T* sourceGradient);

}  // namespace tilefold::cuda
