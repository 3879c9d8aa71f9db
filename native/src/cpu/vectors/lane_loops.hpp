// Loops over pixels whose 8 or 16 channels, lanes, lie together.
#pragma once
#include <cstdint>

#include "../../kernels/bfloat16.hpp"

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

}  // namespace tilefold::cpu
