// Convolution by its definition: plain layouts, any window, sums in double.
#pragma once
#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"

namespace tilefold::reference {

// destination[b, o, y, x] = bias[o] + sum over the window of weights[o, i, ky, kx] source[b, i,
// ...], times c.slope where negative. `bias` may be null.
template <class T>
void convolutionForward(const Convolution& c, const T* source, const T* weights, const ParameterOf<T>* bias, T* destination);

template <class T>
void convolutionBackwardData(const Convolution& c, const T* destinationGradient, const T* weights, T* sourceGradient);

// `biasGradient` may be null.
template <class T>
void convolutionBackwardWeights(const Convolution& c, const T* source, const T* destinationGradient, ParameterOf<T>* weightGradient,
                                ParameterOf<T>* biasGradient);

// Throws Failure unless every layout is plain.
void requirePlain(const Convolution& c);

}  // namespace tilefold::reference
