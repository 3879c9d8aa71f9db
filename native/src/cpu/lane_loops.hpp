// Loops over pixels whose 8 or 16 channels, lanes, lie together.
#pragma once
#include <cstdint>

#include "../kernels/bfloat16.hpp"
#include "window_axis.hpp"

namespace tilefold::cpu {

// `lanes` elements of each of `count` pixels, `step` elements apart on each side; `sum`: added to
// what is there.
template <class T>
struct PixelsFrom {
  const T* first;
  std::int64_t step;
};
template <class T>
struct PixelsTo {
  T* first;
  std::int64_t step;
};
template <class T>
void copyLanes(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t lanes, std::int64_t count, bool sum);

// pixels [count, block] with block 8 or 16: fill every pixel with `lanes`, or add all pixels to
// `lanes`.
void fillPixels(const float* lanes, float* pixels, std::int64_t count, std::int64_t block);
template <class T>
void addPixels(const T* pixels, double* lanes, std::int64_t count, std::int64_t block);

// One row of a max pool's results, pixels of 8 or 16 channels: the largest of each window that lies
// in the input, the first of equals, NaN over numbers, and its place in the window; -infinity and
// 255 where none does.
template <class T>
struct PoolRow {
  const T* source;  // of the plane
  std::int64_t top;     // the window's first row, which may lie outside
  WindowAxis rows, columns;
};
template <class T>
void maxPoolRow(const PoolRow<T>& row, T* values, std::uint8_t* indices, std::int64_t block);

// One row of the gradient of a max pool's input: the sum of what the windows received in which an
// element won, in the order of the windows, in float, rounded once.
template <class T>
struct PoolGradientRow {
  const T* received;  // of the plane
  const std::uint8_t* indices;
  std::int64_t outWidth, kernelWidth;
  const WindowPlace *firstRow, *endRow;  // the windows' rows that hold this one
  WindowPlaces columns;
};
template <class T>
void maxPoolGradientRow(const PoolGradientRow<T>& row, T* gradient, std::int64_t block);

}  // namespace tilefold::cpu
