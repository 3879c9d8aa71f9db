// The innermost loops of convolution_strips.hpp, compiled for several instruction sets like
// vector_loops.hpp.
#pragma once
#include <cstdint>

namespace tilefold::cpu {

constexpr std::int64_t stripLanes = 16;     // channels of a block
constexpr std::int64_t stripPixels = 6;     // results of a row that are held in registers,
constexpr std::int64_t maxStripBlocks = 4;  // each in so many blocks of channels

// Adds to `pixels` results of a row, in `resultBlocks` blocks of channels (at most
// maxStripBlocks), the products of all operand blocks and taps. Offsets and strides are in floats;
// a matrix of weights is [operand lane][result lane].
struct Strips {
  const float* operand;
  std::int64_t operandBlockStride, pixelStride;  // from one result's operand to the next one's
  const float* weights;
  // From a matrix to that of the next block of the operand, or of the result.
  std::int64_t operandMatrixStride, resultMatrixStride;
  const std::int64_t *operandOffsets, *matrixOffsets;    // of each tap
  std::int64_t taps, operandBlocks;
  float* result;
  std::int64_t resultBlockStride, resultBlocks, pixels;
};
void addStrips(const Strips& strips);

}  // namespace tilefold::cpu
