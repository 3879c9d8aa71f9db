// Addresses on the device of what a convolution reads and writes.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tilefold::cuda {

// Bytes at whose multiples the first three begin.
constexpr std::int64_t tensorAlignment = 16;

struct ConvolutionTensors {
  void *source, *weights, *destination, *workspace;
  std::size_t workspaceBytes;
  const float* bias;  // null: none
};

}  // namespace tilefold::cuda
