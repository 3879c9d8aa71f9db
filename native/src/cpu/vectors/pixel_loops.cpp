#include "pixel_loops.hpp"

#include <algorithm>

#include "../../kernels/exponential.hpp"
#include "lanes.hpp"

namespace tilefold::cpu {
namespace {

template <int Block, class T>
TILEFOLD_INLINE void addToPixelsBlock(const float* lanes, T* pixels, std::int64_t count) {
  for (std::int64_t p = 0; p < count; ++p)
#pragma omp simd
    for (int lane = 0; lane < Block; ++lane) pixels[p * Block + lane] += lanes[lane];
}

template <class T>
TILEFOLD_INLINE void findSoftmax(const PixelScores<T>& pixels, PixelSoftmax& softmax, float* classes) {
  std::int64_t offsets[pixelRun];
  // Beyond `count` the last pixel again.
  for (std::int64_t x = 0; x < pixelRun; ++x) offsets[x] = std::min(x, pixels.count - 1) * pixels.block;
  float largest[pixelRun];
  std::int32_t best[pixelRun] = {};
  for (std::int64_t x = 0; x < pixelRun; ++x) largest[x] = pixels.scores[offsets[x]];
  for (std::int64_t k = 0; k < pixels.classes; ++k) {
    const T* scores = pixels.scores + pixels.offset(0, k);
    float* row = classes + k * pixelRun;
    for (std::int64_t x = 0; x < pixelRun; ++x) row[x] = scores[offsets[x]];
#pragma omp simd
    for (std::int64_t x = 0; x < pixelRun; ++x) {
      best[x] = row[x] > largest[x] ? static_cast<std::int32_t>(k) : best[x];
      largest[x] = row[x] > largest[x] ? row[x] : largest[x];
    }
  }
  double sum[pixelRun] = {};
  for (std::int64_t k = 0; k < pixels.classes; ++k) {
    float* row = classes + k * pixelRun;
#pragma omp simd
    for (std::int64_t x = 0; x < pixelRun; ++x) {
      row[x] = exponential(row[x] - largest[x]);
      sum[x] += static_cast<double>(row[x]);
    }
  }
  std::copy_n(largest, pixelRun, softmax.largest);
  std::copy_n(best, pixelRun, softmax.best);
  std::copy_n(sum, pixelRun, softmax.sum);
}

template <class T>
TILEFOLD_INLINE void writeRows(const PixelScores<T>& pixels, const float* exponentials, const PixelGradients& gradients, T* result) {
  for (std::int64_t k = 0; k < pixels.classes; ++k) {
    float values[pixelRun];
#pragma omp simd
    for (std::int64_t x = 0; x < pixelRun; ++x) {
      const float scaled = exponentials[k * pixelRun + x] * gradients.scale[x];
      const float counted = gradients.share[x] == 0 ? 0.0F : scaled;
      values[x] = counted - (gradients.label[x] == static_cast<std::int32_t>(k) ? gradients.share[x] : 0.0F);
    }
    T* results = result + pixels.offset(0, k);
    for (std::int64_t x = 0; x < pixels.count; ++x) results[x * pixels.block] = T(values[x]);
  }
  if (const std::int64_t lanes = pixels.classes % pixels.block; lanes != 0) {
    T* padding = result + pixels.classes / pixels.block * pixels.blockStride;
    for (std::int64_t x = 0; x < pixels.count; ++x)
      std::fill(padding + x * pixels.block + lanes, padding + (x + 1) * pixels.block, T(0.0F));
  }
}

}  // namespace

template <class T>
void addToPixels(const float* lanes, T* pixels, std::int64_t count, std::int64_t block) {
  forProcessor([=]() TILEFOLD_INLINED {
    if (block == 16)
      addToPixelsBlock<16>(lanes, pixels, count);
    else
      addToPixelsBlock<8>(lanes, pixels, count);
  });
}

template <class T>
void softmaxOfPixels(const PixelScores<T>& pixels, PixelSoftmax& softmax, float* exponentials) {
  forProcessor([=, &pixels, &softmax]() TILEFOLD_INLINED { findSoftmax(pixels, softmax, exponentials); });
}

template <class T>
void writeGradients(const PixelScores<T>& pixels, const float* exponentials, const PixelGradients& gradients, T* result) {
  forProcessor([=, &pixels, &gradients]() TILEFOLD_INLINED { writeRows(pixels, exponentials, gradients, result); });
}

template void addToPixels(const float*, float*, std::int64_t, std::int64_t);
template void addToPixels(const float*, Bfloat16*, std::int64_t, std::int64_t);
template void softmaxOfPixels(const PixelScores<float>&, PixelSoftmax&, float*);
template void softmaxOfPixels(const PixelScores<Bfloat16>&, PixelSoftmax&, float*);
template void writeGradients(const PixelScores<float>&, const float*, const PixelGradients&, float*);
template void writeGradients(const PixelScores<Bfloat16>&, const float*, const PixelGradients&, Bfloat16*);

}  // namespace tilefold::cpu
