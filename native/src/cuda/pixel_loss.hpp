// Softmax cross entropy of every pixel's scores, and their classes; plain or nhwc. Semantics:
// reference/pixel_loss.hpp. Exponentials are of float32, their sums and the losses in double. A
// label that is none is recorded in context.fault, and the loss stays as it was.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// `classWeights` may be null; `normaliser` is one number on the device.
template <class T>
void pixelCrossEntropyForward(const Context& context, const PixelCrossEntropy& c, const T* source, const std::int32_t* labels,
                              const float* classWeights, const double* normaliser, double* loss);
template <class T>
void pixelCrossEntropyBackward(const Context& context, const PixelCrossEntropy& c, const T* source, const std::int32_t* labels,
                               const float* classWeights, const double* normaliser, T* sourceGradient);

template <class T>
void argmaxChannels(const Context& context, const PlacedTile& t, const T* source, std::uint8_t* classes);

}  // namespace tilefold::cuda
