// Average pooling, plain or nhwc. Semantics: reference/pooling.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

void averagePoolForward(const Context& context, const AveragePool& p, const float* source, float* destination);
// Every input pixel gathers from the windows over it.
void averagePoolBackward(const Context& context, const AveragePool& p, const float* destinationGradient, float* sourceGradient);

}  // namespace tilefold::cuda
