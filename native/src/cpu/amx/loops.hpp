// The loops around AMX's products (amx.hpp): what is multiplied is brought into rows of 32 numbers
// of bf16, and sums are rounded to bf16.
#pragma once
#include <cstdint>
#include <vector>

#include "../../kernels/bfloat16.hpp"

namespace tilefold::cpu {

constexpr std::int64_t amxLanes = 16;                  // channels of a block, and of a row of sums
constexpr std::int64_t amxRow = 2 * amxLanes;          // numbers of bf16 in a row
constexpr std::int64_t amxMatrix = amxRow * amxLanes;  // in a register
constexpr std::int64_t amxSums = amxLanes * amxLanes;  // floats in a register

// Rows of two blocks' lanes for each of `count` pixels; zeros for a block that is null.
void packBlocks(const Bfloat16* first, const Bfloat16* second, std::int64_t count, Bfloat16* rows);

// The channels of `count` pixels side by side, `perPixel` numbers each, zeros where there are fewer
// channels; these are `planeStride` elements apart.
void packPlanes(const Bfloat16* first, std::int64_t planeStride, std::int64_t channels, std::int64_t perPixel, std::int64_t count,
                Bfloat16* pixels);

// Rows of two pixels' lanes, in pairs of one lane, for `count` pixels; then zeros, for as many rows
// as `padded` pixels have.
void packPairsOfPixels(const Bfloat16* first, std::int64_t count, std::int64_t padded, Bfloat16* rows);

// A row of each lane, `rowStride` elements apart, of `count` pixels, a multiple of 32. Pixels are
// `step` elements apart; those outside of begin .. end - 1 are not read, and are zero.
void packPixels(const Bfloat16* first, std::int64_t step, std::int64_t begin, std::int64_t end, std::int64_t count, Bfloat16* rows,
                std::int64_t rowStride);

// A bias [channels] with zeros up to whole blocks; empty where there is none.
std::vector<float> wholeBlocks(const float* bias, std::int64_t channels);

// Sums of `count` pixels, [pixel][lane], plus a bias [lane] if there is one, rectified and rounded.
// Pixels are `step` elements apart.
void roundSums(const float* sums, const float* bias, float slope, std::int64_t count, Bfloat16* pixels, std::int64_t step);

}  // namespace tilefold::cpu
