// The points of Winograd's F(4x4, 3x3) and F(6x6, 3x3) (Lavin 2016), and
// the matrices that transforms along an axis multiply by (Toom and Cook). `Largest` is how many
// results a whole tile has along an axis, 4 or 6. Tiles of fewer leave out the points that come
// last but infinity; their transforms of pixels make up for it, so that those of taps are the same.
#pragma once

namespace tilefold::cpu::winograd {

template <int Largest>
constexpr int finitePoints = Largest + 1;
// Infinity comes after them. The usual 1 and 2 (and 1/2) round twice as coarsely, and every
// constant of the transforms of pixels is still exact.
template <int Largest>
inline constexpr double points[finitePoints<Largest>] = {0, 0.625, -0.625, 1.5, -1.5};
template <>
inline constexpr double points<6>[7] = {0, 0.625, -0.625, 1.0625, -1.0625, 2, -2};

template <int Rows, int Columns>
struct Matrix {
  double at[Rows][Columns] = {};
  constexpr Matrix<Columns, Rows> transposed() const {
    Matrix<Columns, Rows> result;
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j) result.at[j][i] = at[i][j];
    return result;
  }
};

// B^T: a row for each point, infinity last. A row has the coefficients of the product of (x - every
// other point): tapsToPoints divides by the distances to all points, so this multiplies by those to
// the points that are left out.
template <int Largest, int Results>
constexpr Matrix<Results + 2, Results + 2> pixelsToPoints() {
  constexpr int finite = Results + 1;
  Matrix<Results + 2, Results + 2> result;
  for (int i = 0; i < Results + 2; ++i) {
    auto& row = result.at[i];
    row[0] = 1;
    for (int other = 0, degree = 0; other < finite; ++other) {
      if (other == i) continue;
      ++degree;
      for (int k = degree; k >= 0; --k) row[k] = (k > 0 ? row[k - 1] : 0) - points<Largest>[other] * row[k];
    }
    for (int left = finite; i < finite && left < finitePoints<Largest>; ++left)
      for (double& factor : row) factor *= points<Largest>[i] - points<Largest>[left];
  }
  return result;
}

// A^T: results are coefficients times the powers of the points.
template <int Largest, int Results>
constexpr Matrix<Results, Results + 2> pointsToResults() {
  Matrix<Results, Results + 2> result;
  for (int i = 0; i < Results + 1; ++i) {
    double power = 1;
    for (int k = 0; k < Results; ++k, power *= points<Largest>[i]) result.at[k][i] = power;
  }
  result.at[Results - 1][Results + 1] = 1;
  return result;
}

// G: 1, x, x^2 over the product of (x - every other point).
template <int Largest>
constexpr Matrix<Largest + 2, 3> tapsToPoints() {
  constexpr auto& all = points<Largest>;
  Matrix<Largest + 2, 3> result;
  for (int i = 0; i < finitePoints<Largest>; ++i) {
    double distances = 1;
    for (int other = 0; other < finitePoints<Largest>; ++other)
      if (other != i) distances *= all[i] - all[other];
    for (int k = 0; k < 3; ++k) result.at[i][k] = (k == 0 ? 1 : k == 1 ? all[i] : all[i] * all[i]) / distances;
  }
  result.at[finitePoints<Largest>][2] = 1;
  return result;
}

}  // namespace tilefold::cpu::winograd
