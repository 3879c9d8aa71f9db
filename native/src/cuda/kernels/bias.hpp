// What follows a convolution or a matrix product: its bias and rectifier.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "../../kernels/bfloat16.hpp"
#include "../../kernels/layout.hpp"

namespace tilefold::cuda {

// Enqueues, for every element of `values` [batch, channels, pixels] (plain or nhwc): its channel's
// bias is added, if there is one, and a result that is not above 0 is multiplied by `slope`. 1
// leaves it; NaN stays.
template <class T>
void addBiasAndSlope(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels,
                     const float* biasOrNull, double slope, T* values);

}  // namespace tilefold::cuda
