// Softmax cross-entropy of every pixel's scores in blocked layouts; semantics:
// reference/pixel_loss.cpp.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "operands/launch.hpp"

namespace tilefold::cpu {

// The same bits for any number of threads.
template <class T>
Launch pixelCrossEntropyForward(const PixelCrossEntropy& c);
template <class T>
Launch pixelCrossEntropyBackward(const PixelCrossEntropy& c);

}  // namespace tilefold::cpu
