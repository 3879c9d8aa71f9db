// What follows a convolution or a matrix product: its bias and rectifier, and the gradient of the
// bias.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "../kernels/bfloat16.hpp"
#include "../kernels/layout.hpp"

namespace tilefold::cuda {

// Enqueues, for every element of `values` [batch, channels, pixels] (plain or nhwc): its channel's
// bias is added, if there is one, and a result that is not above 0 is multiplied by `slope`. 1
// leaves it; NaN stays.
template <class T>
void addBiasAndSlope(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels,
                     const float* biasOrNull, double slope, T* values);

// Bytes of the partial sums with which biasGradient keeps the device busy; 0 where it needs none.
std::int64_t biasGradientPartialBytes(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels);

// Enqueues: sums[c] is the sum of `gradient` [batch, channels, pixels] (plain or nhwc) over batch
// and pixels, added in double in an order that depends on the shape only. Without `partials`, a
// block sums a channel all by itself.
template <class T>
void biasGradient(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels, const T* gradient,
                  double* partialsOrNull, float* sums);

}  // namespace tilefold::cuda
