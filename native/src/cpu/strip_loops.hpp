// The innermost loops of convolution_strips.hpp.
#pragma once
#include <cstdint>

#include "../kernels/bfloat16.hpp"

namespace tilefold::cpu {

constexpr std::int64_t stripLanes = 16;     // channels of a block
constexpr std::int64_t stripPixels = 6;     // results of a row that are held in registers,
constexpr std::int64_t maxStripBlocks = 4;  // each in so many blocks of channels

// Adds to `pixels` sums of a row, in `sumBlocks` blocks of channels (at most maxStripBlocks), the
// products of all operand blocks and taps. Offsets and strides are in elements. A matrix of weights
// is [operand lane][result lane] of float, or [pair of operand lanes][result lane][2] of bf16.
template <class T>
struct Strips {
  const T* operand;
  std::int64_t operandBlockStride, pixelStride;  // from one result's operand to the next one's
  const T* weights;
  // From a matrix to that of the next block of the operand, or of the result.
  std::int64_t operandMatrixStride, resultMatrixStride;
  const std::int64_t *operandOffsets, *matrixOffsets;  // of each tap
  std::int64_t taps, operandBlocks;
  float* sums;
  std::int64_t sumBlockStride, sumBlocks, pixels;
};
// Compiled for several instruction sets like vector_loops.hpp.
void addStrips(const Strips<float>& strips);
// An instruction multiplies two operand lanes by two weights: where multipliesPairs() of
// processor.hpp.
void addStrips(const Strips<Bfloat16>& strips);

// body(first, pixels) for the strips of a row, all about as long.
template <class Body>
inline __attribute__((always_inline)) void forStrips(std::int64_t pixels, const Body& body) {
  const std::int64_t count = (pixels + stripPixels - 1) / stripPixels;
  for (std::int64_t strip = 0; strip < count; ++strip) {
    const std::int64_t first = pixels * strip / count;
    body(first, pixels * (strip + 1) / count - first);
  }
}

}  // namespace tilefold::cpu
