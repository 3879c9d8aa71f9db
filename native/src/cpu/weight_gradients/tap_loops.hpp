// The innermost loops of plain_weight_gradient.hpp, compiled for several instruction sets like
// vector_loops.hpp.
#pragma once
#include <array>
#include <cstdint>

namespace tilefold::cpu {

constexpr std::int64_t maxTaps = 7, maxTapRows = 9, maxTapSums = 27;  // that registers hold

// How many rows of `taps` taps (at most maxTaps) to sum side by side, if there are `rows`.
std::int64_t tapRowsAtOnce(std::int64_t taps, std::int64_t rows, std::int64_t block);

// Pixels [begin, end) of one row of a gradient, with as many rows of a plain source as
// tapRowsAtOnce says: sums[row][tap * block + r] += sources[row][p * stride + shift + tap] *
// gradient[p * block + r], wherever a tap reads places 0 .. width - 1. What is summed beside a sum
// changes no bit of it.
struct TapRows {
  std::int64_t rows, taps;
  std::array<const float*, maxTapRows> sources;
  std::array<float*, maxTapRows> sums;
  std::int64_t stride, shift, width;
  const float* gradient;
  std::int64_t begin, end;
};
void addTaps(const TapRows& row, std::int64_t block);

// doubles[i] += floats[i]
void addToDoubles(const float* floats, double* doubles, std::int64_t count);

}  // namespace tilefold::cpu
