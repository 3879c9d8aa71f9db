// What a library's convolution reads and writes in place of its operands.
#pragma once
#include <optional>

#include "pad.hpp"

namespace tilefold::cuda {

struct ConvolutionCopies {
  std::optional<PadBox> source, weights;
};

}  // namespace tilefold::cuda
