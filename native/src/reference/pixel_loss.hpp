// Softmax cross-entropy of every pixel's scores and the class of the largest, in any activation
// layout. Softmax is formed in double.
#pragma once
#include <cstdint>

#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"

namespace tilefold::reference {

// Adds to loss: [sum of weighted losses / normaliser, pixels predicted rightly]; nothing where no
// pixel counts. Throws Failure for a label that is none, and leaves loss as it was.
template <class T>
void pixelCrossEntropyForward(const PixelCrossEntropy& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* classWeights,
                              double normaliser, double* loss);
// Pixels that do not count have gradient 0.
template <class T>
void pixelCrossEntropyBackward(const PixelCrossEntropy& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* classWeights,
                               double normaliser, T* sourceGradient);

// The first of equals; noClass where a score is not finite.
template <class T>
void argmaxChannels(const PlacedTile& t, const T* source, std::uint8_t* classes);

}  // namespace tilefold::reference
