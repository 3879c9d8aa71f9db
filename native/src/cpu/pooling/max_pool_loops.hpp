// Loops over rows of max pools, compiled for several instruction sets like vector_loops.hpp.
// `block` is 8 or 16.
#pragma once
#include <cstdint>

#include "../../kernels/bfloat16.hpp"
#include "../operands/window_axis.hpp"

namespace tilefold::cpu {

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
// element won, in the order of the windows, in float, rounded once. `streams`: past the caches
// (streaming.hpp).
template <class T>
struct PoolGradientRow {
  const T* received;  // of the plane
  const std::uint8_t* indices;
  std::int64_t outWidth, kernelWidth;
  const WindowPlace *firstRow, *endRow;  // the windows' rows that hold this one
  WindowPlaces columns;
  // The columns' windows where they lie side by side, so that none shares an input; else null.
  const WindowAxis* disjoint;
  bool streams;
};
template <class T>
void maxPoolGradientRow(const PoolGradientRow<T>& row, T* gradient, std::int64_t block);

}  // namespace tilefold::cpu
