// The gradient of a convolution's source as a forward convolution of the destination's gradient,
// where strides are 1: by weights whose taps are rotated by 180 degrees and whose inputs and
// outputs have changed places. On an H200 cuDNN's forward kernels took 1/1.6 of the time of its
// backward-data ones at 64 and 128 channels (float32, by themselves: not timed within this
// product).
#pragma once
#include "../../kernels/bfloat16.hpp"
#include "../../kernels/kernel_fields.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

// Whether the convolution has such strides, and one layout for both tensors.
bool runsRotated(const Convolution& c);

// The forward convolution that gives convolutionBackwardData of `c`, by the forward algorithm that
// the algorithm of `c` names.
Convolution rotate180(const Convolution& c);

// Enqueues: the weights of rotate180(c), in the layout of those of `c`.
template <class T>
void rotateWeights(const Context& context, const Convolution& c, const T* weights, T* rotatedWeights);

}  // namespace tilefold::cuda
