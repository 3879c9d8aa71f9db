// Squares of 16 x 16 channels of weights, from rows that lie together to rows `step` elements
// apart.
#pragma once
#include <cstdint>
#include <cstring>

#include "lanes.hpp"

namespace tilefold::cpu {

constexpr std::int64_t squareSide = 16;

TILEFOLD_INLINE void copySquareRows(const float* source, float* destination, std::int64_t step) {
  for (std::int64_t row = 0; row < squareSide; ++row)
    std::memcpy(destination + row * step, source + row * squareSide, squareSide * sizeof(float));
}

TILEFOLD_INLINE void transposeSquareRows(const float* source, float* destination, std::int64_t step) {
  float transposed[squareSide * squareSide];
  for (std::int64_t row = 0; row < squareSide; ++row)
    for (std::int64_t column = 0; column < squareSide; ++column) transposed[row * squareSide + column] = source[column * squareSide + row];
  copySquareRows(transposed, destination, step);
}

}  // namespace tilefold::cpu
