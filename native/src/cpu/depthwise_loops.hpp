// The innermost loops of depthwise_weight_gradient.hpp.
#pragma once
#include <cstdint>

namespace tilefold::cpu {

// Pixels side by side of one row of a gradient, under one row of a window. Source and gradient are
// of one block of channels.
struct DepthwiseRow {
  const float *source, *gradient;
  std::int64_t taps, stride, dilation, shift, width, pixels;
};

// sums[tap * block + lane] += the sum over pixels of source[(p * stride + tap * dilation + shift) *
// block + lane] * gradient[p * block + lane], wherever a tap reads places 0 .. width - 1.
void addDepthwise(const DepthwiseRow& row, std::int64_t block, float* sums);

}  // namespace tilefold::cpu
