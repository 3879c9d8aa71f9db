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

// Pixels side by side in a row whose classes are scored: `count` of them, at most pixelRun. Channel
// k lies in block k / block, and blocks lie `blockStride` apart.
constexpr std::int64_t pixelRun = 16;
struct PixelScores {
  const float* scores;
  std::int64_t count, blockStride, classes, block;
};
// Of each pixel the largest score, the first class that has it, and the sum of
// exp(score - largest).
struct PixelSoftmax {
  float largest[pixelRun];
  std::int32_t best[pixelRun];
  double sum[pixelRun];
};
// Leaves exp(score - largest), [classes][pixelRun], in `exponentials`.
void softmaxOfPixels(const PixelScores& pixels, PixelSoftmax& softmax, float* exponentials);
// Writes scales[x] * exponentials[k][x], and 0 to channels that are padding.
void writeScaled(const PixelScores& pixels, const float* exponentials, const float* scales, float* result);

}  // namespace tilefold::cpu
