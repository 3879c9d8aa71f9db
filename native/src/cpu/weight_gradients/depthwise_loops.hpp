// The innermost loops of depthwise_weight_gradient.hpp.
#pragma once
#include <array>
#include <cstdint>

namespace tilefold::cpu {

constexpr std::int64_t maxDepthwiseRows = 3;  // of a window, that are summed side by side

// Pixels side by side of one row of a gradient, under `rows` rows of a window. Sources and gradient
// are of one block of channels.
struct DepthwiseRows {
  std::int64_t rows;
  std::array<const float*, maxDepthwiseRows> sources;
  const float* gradient;
  std::int64_t taps, stride, dilation, shift, width, pixels;
};

// sums[(row * taps + tap) * block + lane] += the sum over pixels p of sources[row][(p * stride +
// tap * dilation + shift) * block + lane] * gradient[p * block + lane], wherever a tap reads places
// 0 .. width - 1.
void addDepthwise(const DepthwiseRows& rows, std::int64_t block, float* sums);

}  // namespace tilefold::cpu
