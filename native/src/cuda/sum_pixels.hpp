// Sums over the pixels of a tile, plain or nhwc. Semantics: reference/pooling.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

void sumPixelsForward(const Context& context, const SumPixels& s, const float* source, float* sum);
void sumPixelsBackward(const Context& context, const SumPixels& s, const float* sumGradient, float* sourceGradient);

}  // namespace tilefold::cuda
