// The points of Winograd's F(4x4, 3x3) (Lavin and Gray 2015, arXiv 1509.09308), and the matrices
// that transforms along an axis multiply by (Toom and Cook). Tiles of fewer results leave out the
// points that come last but infinity; their transforms of pixels make up for it, so that those of
// taps are the same.
#pragma once

namespace tilefold::cpu::winograd {

constexpr int maxResults = 4;  // along an axis
constexpr int finitePoints = maxResults + 1;
// Infinity comes after them. The usual 1 and 2 round twice as coarsely, and every constant of the
// transforms of pixels is still exact.
constexpr double points[finitePoints] = {0, 0.625, -0.625, 1.5, -1.5};

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
template <int Results>
constexpr Matrix<Results + 2, Results + 2> pixelsToPoints() {
  constexpr int finite = Results + 1;
  Matrix<Results + 2, Results + 2> result;
  for (int i = 0; i < Results + 2; ++i) {
    auto& row = result.at[i];
    row[0] = 1;
    for (int other = 0, degree = 0; other < finite; ++other) {
      if (other == i) continue;
      ++degree;
      for (int k = degree; k >= 0; --k) row[k] = (k > 0 ? row[k - 1] : 0) - points[other] * row[k];
    }
    for (int left = finite; i < finite && left < finitePoints; ++left)
      for (double& factor : row) factor *= points[i] - points[left];
  }
  return result;
}

// A^T: results are coefficients times the powers of the points.
template <int Results>
constexpr Matrix<Results, Results + 2> pointsToResults() {
  Matrix<Results, Results + 2> result;
  for (int i = 0; i < Results + 1; ++i) {
    double power = 1;
    for (int k = 0; k < Results; ++k, power *= points[i]) result.at[k][i] = power;
  }
  result.at[Results - 1][Results + 1] = 1;
  return result;
}

// G: 1, x, x^2 over the product of (x - every other point).
constexpr Matrix<finitePoints + 1, 3> tapsToPoints() {
  Matrix<finitePoints + 1, 3> result;
  for (int i = 0; i < finitePoints; ++i) {
    double distances = 1;
    for (int other = 0; other < finitePoints; ++other)
      if (other != i) distances *= points[i] - points[other];
    for (int k = 0; k < 3; ++k) result.at[i][k] = (k == 0 ? 1 : k == 1 ? points[i] : points[i] * points[i]) / distances;
  }
  result.at[finitePoints][2] = 1;
  return result;
}

}  // namespace tilefold::cpu::winograd
