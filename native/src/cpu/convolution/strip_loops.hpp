// The innermost loops of strips.hpp.
#pragma once
#include <cstdint>

#include "../../kernels/bfloat16.hpp"
#include "../../kernels/layout.hpp"
#include "../vectors/constants.hpp"

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

// body(blocks, pixels, first) for the strips of a row, all about as long; blocks and pixels are
// constants.
template <class T, class Body>
TILEFOLD_INLINE void forStrips(const Strips<T>& s, const Body& body) {
  const std::int64_t count = ceilDivide(s.pixels, stripPixels);
  withConstant<1, maxStripBlocks>(s.sumBlocks, [&](auto blocks) TILEFOLD_INLINED {
    for (std::int64_t strip = 0; strip < count; ++strip) {
      const std::int64_t first = s.pixels * strip / count, pixels = s.pixels * (strip + 1) / count - first;
      withConstant<1, stripPixels>(pixels, [&](auto of) TILEFOLD_INLINED { body(blocks, of, first); });
    }
  });
}

}  // namespace tilefold::cpu
