// Addresses on the device of what a convolution reads and writes.
#pragma once
#include <cstddef>

namespace tilefold::cuda {

struct ConvolutionTensors {
  void *source, *weights, *destination, *workspace;
  std::size_t workspaceBytes;
};

}  // namespace tilefold::cuda
