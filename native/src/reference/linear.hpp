// The fully connected layer; everything plain, sums in double.
#pragma once
#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"

namespace tilefold::reference {

// y[b, o] = sum_i x[b, i] w[o, i] + bias[o]; `bias` may be null.
template <class T>
void linearForward(const Linear& l, const T* source, const T* weights, const ParameterOf<T>* bias, T* destination);
template <class T>
void linearBackwardData(const Linear& l, const T* destinationGradient, const T* weights, T* sourceGradient);
// `biasGradient` may be null.
template <class T>
void linearBackwardWeights(const Linear& l, const T* source, const T* destinationGradient, ParameterOf<T>* weightGradient,
                           ParameterOf<T>* biasGradient);

}  // namespace tilefold::reference
