// Loops over the pixels of blocked activations for resizing, biases and losses, compiled for
// several instruction sets like vector_loops.hpp. `block` is 8 or 16.
#pragma once
#include <cstdint>

#include "../kernels/bfloat16.hpp"

namespace tilefold::cpu {

// Coordinates begin .. begin + count - 1 of an axis, each with its weight.
struct Terms {
  std::int64_t begin, count;
  const float* weights;
};

// T: float or Bfloat16. One row of results: result[x] = sum over the terms of `rows` and of
// columns[x] of weights times operand[row][column].
template <class T>
struct GatherRow {
  const T* operand;  // of the plane
  std::int64_t operandWidth;
  Terms rows;
  const Terms* columns;
  std::int64_t count;
};
template <class T>
void gatherRow(const GatherRow<T>& row, T* result, std::int64_t block);

// Adds `lanes` to every pixel.
template <class T>
void addToPixels(const float* lanes, T* pixels, std::int64_t count, std::int64_t block);

// The scores of one pixel: channel k lies in block k / block, and blocks lie `blockStride` apart.
struct PixelScores {
  const float* scores;
  std::int64_t blockStride, classes;
};
// Largest score, the first class that has it, and the sum of exp(score - largest).
struct PixelSoftmax {
  double largest, sum;
  std::int64_t best;
};
// Writes the exponentials (0 where the channel is padding) where it is told to.
PixelSoftmax softmaxOfPixel(const PixelScores& pixel, float* exponentialsOrNull, std::int64_t block);

}  // namespace tilefold::cpu
