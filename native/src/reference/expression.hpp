// Pointwise functions of tiles, from their expressions; channel padding is zero.
#pragma once
#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"

namespace tilefold::reference {

// What an expression over a tile reads; what it does not read may be null.
template <class T>
struct PointwiseOperands {
  const T* input;
  const T* second;
  const ParameterOf<T>* weight;
  const ParameterOf<T>* bias;
  const T* gradient;
};

// The destination may be the input or the gradient.
template <class T>
void pointwise(const Pointwise& p, const PointwiseOperands<T>& operands, T* destination);
// Sum is the parameters' type, or T where there is one value an image and channel.
template <class T, class Sum>
void pointwiseSum(const PointwiseSum& s, const PointwiseOperands<T>& operands, Sum* sums);

}  // namespace tilefold::reference
