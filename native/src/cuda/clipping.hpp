// Clipping of gradients by their norm. Semantics: reference/clipping.hpp; here the sum of squares
// is read on the device.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

void sumSquares(const Context& context, const Count& s, const float* source, double* sum);
void clipGradient(const Context& context, const ClipGradient& c, const double* sumSquares, float* gradient);
void squareRoot(const Context& context, const Count& s, const double* source, double* destination);

}  // namespace tilefold::cuda
