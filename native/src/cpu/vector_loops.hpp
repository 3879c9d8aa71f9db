// Loops over contiguous floats, compiled for several instruction sets of which the best is taken
// when the program starts. The result of each depends on nothing but its operands, so work may be
// split among threads anywhere.
#pragma once
#include <cstdint>

#include "../kernels/bfloat16.hpp"
#include "window_axis.hpp"

namespace tilefold::cpu {

// T: float or Bfloat16, which is computed with as float and rounded where it is stored.

// Source and destination may coincide, but not overlap otherwise.
template <class T>
void rectify(const T* source, T* destination, std::int64_t count, float slope);
template <class T>
void rectifyGradient(const T* output, const T* outputGradient, T* sourceGradient, std::int64_t count, float slope);

template <class T>
void add(const T* source, T* destination, std::int64_t count);
// destination = rectified(first + second), which may be either.
template <class T>
void addRectified(const T* first, const T* second, T* destination, std::int64_t count, float slope);
// Between bf16 and float.
void convert(const Bfloat16* source, float* destination, std::int64_t count);
void convert(const float* source, Bfloat16* destination, std::int64_t count);
// A copy.
void convert(const float* source, float* destination, std::int64_t count);
template <class T>
void addScaled(float scale, const T* source, float* destination, std::int64_t count);
template <class T>
void multiply(float scale, const T* source, float* destination, std::int64_t count);
template <class T>
float dot(const T* left, const T* right, std::int64_t count);
// The sum of the squares, in double.
double squares(const float* values, std::int64_t count);

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

struct SgdStep {
  float rate, momentum, weightDecay;
  bool first;  // the velocity becomes the gradient
};
// `velocity` may be null: plain gradient descent.
void sgdUpdate(const SgdStep& step, float* weights, const float* gradient, float* velocity, std::int64_t count);

struct AdamStep {
  float beta1, beta2, rest1, rest2;  // rest: 1 - beta, formed in double
  float epsilon;
  float decay;             // added to the gradient, times the weights (Adam)
  float shrink;            // what the weights are multiplied with first (AdamW), else 1
  float stepSize;          // rate / (1 - beta1^t)
  float secondCorrection;  // sqrt(1 - beta2^t)
};
void adamUpdate(const AdamStep& step, float* weights, const float* gradient, float* firstMoment, float* secondMoment, std::int64_t count);

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

// One row of pixels through one matrix [lanes of q][block lanes of r], for block 8 or 16 (the r
// lanes of a pixel lie together): result[p * resultStep + r] += sum_q operand[p * pixelStep + q *
// laneStep] * matrix[q][r].
struct MatrixRow {
  const float* operand;
  std::int64_t pixelStep, laneStep, lanes, count;
};
void multiplyRow(const MatrixRow& row, const float* matrix, float* result, std::int64_t resultStep, std::int64_t block);

// The gradient of the matrix, over several rows: matrix[q][r] += sum over y, p of operand[y *
// rowStep + p * pixelStep + q * laneStep] * gradient[y * gradientRowStep + p * block + r]. Each is
// summed in float and added in double: a sum over millions of pixels keeps its digits when it is
// cut into short ones.
struct GradientRows {
  const float* operand;
  std::int64_t rowStep, pixelStep, laneStep, lanes;
  const float* gradient;
  std::int64_t gradientRowStep;
  std::int64_t rows, count;
};
void multiplyGradient(const GradientRows& rows, double* matrix, std::int64_t block);

}  // namespace tilefold::cpu
