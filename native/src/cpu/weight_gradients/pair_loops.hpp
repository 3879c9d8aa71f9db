// The innermost loops of pair_weight_gradient.hpp: an instruction multiplies two pixels of bf16 by
// two and adds both products in float.
#pragma once
#include <cstdint>

#include "../../kernels/bfloat16.hpp"

namespace tilefold::cpu {

constexpr std::int64_t pairLanes = 16;                // channels of a block
constexpr std::int64_t pairElements = 2 * pairLanes;  // of two pixels of a block
constexpr std::int64_t maxPairBlocks = 3;             // of a gradient, that are summed side by side

// Pixels 0 .. count - 1 of a block, `step` elements apart, as pairs [pair][lane][2]. Those outside
// of begin .. end - 1 are not read, and are zero, as is the last one's neighbour.
struct PixelRow {
  const Bfloat16* first;
  std::int64_t step, begin, end, count;
};
void packPairs(const PixelRow& row, Bfloat16* pairs);

// matrices[block][source lane][gradient lane]: the sum over rows of pairs, added to what is there
// if it `adds`. Strides are in elements.
struct PairRows {
  const Bfloat16* source;
  std::int64_t sourceRowStride;
  const Bfloat16* gradient;
  std::int64_t gradientRowStride, gradientBlockStride;
  std::int64_t rows, pairs, blocks;  // at most maxPairBlocks
  float* matrices;
  std::int64_t matrixBlockStride;
  bool adds;
};
void multiplyPairs(const PairRows& rows);  // where multipliesPairs() of processor.hpp

}  // namespace tilefold::cpu
