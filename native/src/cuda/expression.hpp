// Pointwise functions of tiles from their expressions, computed in float32. Semantics: reference/expression.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "../reference/expression.hpp"
#include "context.hpp"

namespace tilefold::cuda {

using reference::PointwiseOperands;

// The destination may be the input or the gradient.
template <class T>
void pointwise(const Context& context, const Pointwise& p, const PointwiseOperands<T>& operands, T* destination);
// Sum is float, or T where there is one value an image and channel.
template <class T, class Sum>
void pointwiseSum(const Context& context, const PointwiseSum& s, const PointwiseOperands<T>& operands, Sum* sums);

}  // namespace tilefold::cuda
