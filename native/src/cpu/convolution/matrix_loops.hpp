// Products of rows of pixels with matrices of one block of channels.
#pragma once
#include <cstdint>

namespace tilefold::cpu {

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
