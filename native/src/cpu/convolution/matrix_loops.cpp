#include "matrix_loops.hpp"

#include "../vectors/lanes.hpp"

namespace tilefold::cpu {
namespace {

// The matrix stays in registers while the row streams past.
template <int Block>
TILEFOLD_INLINE void multiplyRowBlock(const MatrixRow& row, const float* matrix, float* result, std::int64_t resultStep) {
  using Vector = Lanes<Block>;
  if (row.lanes == Block && row.laneStep == 1) {
    typename Vector::Type weights[Block];
    for (int q = 0; q < Block; ++q) weights[q] = Vector::at(matrix + q * Block);
    for (std::int64_t p = 0; p < row.count; ++p) {
      const float* operand = row.operand + p * row.pixelStep;
      typename Vector::Type sum = Vector::at(result + p * resultStep);
      for (int q = 0; q < Block; ++q) sum += operand[q] * weights[q];
      Vector::put(result + p * resultStep, sum);
    }
    return;
  }
  for (std::int64_t q = 0; q < row.lanes; ++q) {
    const typename Vector::Type weights = Vector::at(matrix + q * Block);
    for (std::int64_t p = 0; p < row.count; ++p)
      Vector::put(result + p * resultStep,
                  Vector::at(result + p * resultStep) + row.operand[p * row.pixelStep + q * row.laneStep] * weights);
  }
}

template <int Block>
TILEFOLD_INLINE void multiplyGradientBlock(const GradientRows& rows, double* matrix) {
  using Vector = Lanes<Block>;
  if (rows.lanes == Block && rows.laneStep == 1) {
    typename Vector::Type sums[Block] = {};
    for (std::int64_t y = 0; y < rows.rows; ++y)
      for (std::int64_t p = 0; p < rows.count; ++p) {
        const float* operand = rows.operand + y * rows.rowStep + p * rows.pixelStep;
        const typename Vector::Type gradient = Vector::at(rows.gradient + y * rows.gradientRowStep + p * Block);
        for (int q = 0; q < Block; ++q) sums[q] += operand[q] * gradient;
      }
    for (int q = 0; q < Block; ++q) addLanes<Block>(sums[q], matrix + q * Block);
    return;
  }
  // One channel is one sum: several at once hide the time that an addition takes.
  constexpr int chains = 4;
  for (std::int64_t q = 0; q < rows.lanes; ++q) {
    typename Vector::Type sums[chains] = {};
    for (std::int64_t y = 0; y < rows.rows; ++y) {
      const float* operand = rows.operand + y * rows.rowStep + q * rows.laneStep;
      const float* gradient = rows.gradient + y * rows.gradientRowStep;
      std::int64_t p = 0;
      for (; p + chains <= rows.count; p += chains)
        for (int chain = 0; chain < chains; ++chain)
          sums[chain] += operand[(p + chain) * rows.pixelStep] * Vector::at(gradient + (p + chain) * Block);
      for (; p < rows.count; ++p) sums[0] += operand[p * rows.pixelStep] * Vector::at(gradient + p * Block);
    }
    addLanes<Block>((sums[0] + sums[1]) + (sums[2] + sums[3]), matrix + q * Block);
  }
}

}  // namespace

void multiplyRow(const MatrixRow& row, const float* matrix, float* result, std::int64_t resultStep, std::int64_t block) {
  forProcessor([=, &row]() TILEFOLD_INLINED {
    if (block == 16)
      multiplyRowBlock<16>(row, matrix, result, resultStep);
    else
      multiplyRowBlock<8>(row, matrix, result, resultStep);
  });
}

void multiplyGradient(const GradientRows& rows, double* matrix, std::int64_t block) {
  forProcessor([=, &rows]() TILEFOLD_INLINED {
    if (block == 16)
      multiplyGradientBlock<16>(rows, matrix);
    else
      multiplyGradientBlock<8>(rows, matrix);
  });
}

}  // namespace tilefold::cpu
