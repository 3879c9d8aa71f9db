// The innermost loops of block_weight_gradient.hpp: channels of one block of a source times blocks
// of a gradient, pixel by pixel.
#pragma once
#include <cstdint>

namespace tilefold::cpu {

constexpr std::int64_t gradientLanes = 16;     // channels of a block
constexpr std::int64_t maxGradientBlocks = 4;  // of a gradient, that are summed side by side

// totals[block][source lane][gradient lane] += the sum over rows and pixels of their products,
// which is formed in float first. Pixels of the gradient lie together; steps are in elements.
struct BlockRows {
  const float* source;
  std::int64_t sourceRowStep, sourcePixelStep;
  const float* gradient;
  std::int64_t gradientRowStep, gradientBlockStep;
  std::int64_t rows, pixels, blocks;  // at most maxGradientBlocks
  double* totals;
  std::int64_t totalsBlockStep;
};
void addBlockProducts(const BlockRows& rows);  // where machineBlock() is 16

}  // namespace tilefold::cpu
