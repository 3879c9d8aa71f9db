// Loops over the pixels of blocked activations for biases and losses, compiled for
// several instruction sets like vector_loops.hpp. `block` is 8 or 16.
#pragma once
#include <cstdint>

#include "../../kernels/bfloat16.hpp"

namespace tilefold::cpu {

// Adds `lanes` to every pixel.
template <class T>
void addToPixels(const float* lanes, T* pixels, std::int64_t count, std::int64_t block);

// Pixels side by side in a row whose classes are scored: `count` of them, at most pixelRun, in
// blocks of channels that lie `blockStride` apart. T: float or Bfloat16.
constexpr std::int64_t pixelRun = 16;
template <class T>
struct PixelScores {
  // From the first pixel's first channel to pixel x's channel k, of scores and of gradients.
  std::int64_t offset(std::int64_t x, std::int64_t k) const { return k / block * blockStride + x * block + k % block; }
  const T* scores;
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
template <class T>
void softmaxOfPixels(const PixelScores<T>& pixels, PixelSoftmax& softmax, float* exponentials);

// What a pixel's gradient is made of: scale * exponential, less `share` for its label's class;
// 0, whatever its scores are, where `share` is.
struct PixelGradients {
  float scale[pixelRun], share[pixelRun];
  std::int32_t label[pixelRun];
};
// Writes gradients of scores where `pixels` has them, and 0 to channels that are padding.
template <class T>
void writeGradients(const PixelScores<T>& pixels, const float* exponentials, const PixelGradients& gradients, T* result);

}  // namespace tilefold::cpu
