// Squares of channels of weights, from rows that lie together to rows `step` elements
// apart.
#pragma once
#include <cstdint>
#include <cstring>

#include "lanes.hpp"

namespace tilefold::cpu {

template <std::int64_t Side>
TILEFOLD_INLINE void copySquareRows(const float* source, float* destination, std::int64_t step) {
  for (std::int64_t row = 0; row < Side; ++row) std::memcpy(destination + row * step, source + row * Side, Side * sizeof(float));
}

template <std::int64_t Side>
TILEFOLD_INLINE void transposeSquareRows(const float* source, float* destination, std::int64_t step) {
  float transposed[Side * Side];
  for (std::int64_t row = 0; row < Side; ++row)
    for (std::int64_t column = 0; column < Side; ++column) transposed[row * Side + column] = source[column * Side + row];
  copySquareRows<Side>(transposed, destination, step);
}

}  // namespace tilefold::cpu
