// Transforms along an axis: products with the matrices of points.hpp, unrolled.
#pragma once
#include "../vectors/constants.hpp"
#include "vectors.hpp"

namespace tilefold::cpu::winograd {

// Of two points that follow each other and are each other's negative; 0 comes before them all and
// infinity after.
constexpr bool isFirstOfPair(int i, int count) { return i % 2 == 1 && i + 1 < count - 1; }
constexpr bool isSecondOfPair(int i, int count) { return i > 0 && i % 2 == 0 && i < count - 1; }

// The k-th factor of half the sum of two rows of a matrix (Sign 1), or of half their difference.
template <class M, int One, int Other, int Sign>
struct HalfRows {
  static constexpr double at(int k) { return (M::matrix.at[One][k] + Sign * M::matrix.at[Other][k]) / 2; }
};
template <class M, int Row>
using WholeRow = HalfRows<M, Row, Row, 1>;
// Of a row, for operands of which those of two points of a pair are their sum and their difference.
template <class M, int Row>
struct PairedRow {
  static constexpr double at(int k) {
    const auto& row = M::matrix.at[Row];
    if (isFirstOfPair(k, M::columns)) return (row[k] + row[k + 1]) / 2;
    if (isSecondOfPair(k, M::columns)) return (row[k - 1] - row[k]) / 2;
    return row[k];
  }
};

// The first factor by which all others divide to floats without rounding, so that a sum may begin
// with its operand and be multiplied at the end; -1 where there is none.
template <class Factors>
constexpr int commonFactor(int count) {
  for (int common = 0; common < count; ++common) {
    bool dividesAll = Factors::at(common) != 0;
    for (int k = 0; dividesAll && k < count; ++k) {
      const double quotient = Factors::at(k) / Factors::at(common);
      dividesAll = static_cast<double>(static_cast<float>(quotient)) == quotient && quotient * Factors::at(common) == Factors::at(k);
    }
    if (dividesAll) return common;
  }
  return -1;
}
template <class Factors>
constexpr int firstFactor() {
  int first = 0;
  while (Factors::at(first) == 0) ++first;
  return first;
}
// What commonFactor found, 1 otherwise.
template <class Factors>
constexpr double scaleOf(int count) {
  return commonFactor<Factors>(count) < 0 ? 1 : Factors::at(commonFactor<Factors>(count));
}

// The sum of all x[k] times their factors, divided by `scaleOf` them.
template <class Factors, class Vector, int Count>
TILEFOLD_INLINE Vector combineScaled(const Vector (&x)[Count]) {
  constexpr int common = commonFactor<Factors>(Count), first = common < 0 ? firstFactor<Factors>() : common;
  constexpr double scale = scaleOf<Factors>(Count);
  Vector sum = common < 0 ? static_cast<float>(Factors::at(first)) * x[first] : x[first];
  forConstants<0, Count>([&](auto k) TILEFOLD_INLINED {
    constexpr auto factor = static_cast<float>(Factors::at(k) / scale);
    if constexpr (factor != 0 && k != first) sum += factor * x[k];
  });
  return sum;
}
// The sum itself.
template <class Factors, class Vector, int Count>
TILEFOLD_INLINE Vector combine(const Vector (&x)[Count]) {
  return static_cast<float>(scaleOf<Factors>(Count)) * combineScaled<Factors>(x);
}

// The sums of two rows of a matrix, which share products: what each adds and what it takes away.
template <class M, int One, int Other, class Vector, int Count>
TILEFOLD_INLINE void combinePair(const Vector (&x)[Count], Vector& one, Vector& other) {
  using Odd = HalfRows<M, One, Other, -1>;
  constexpr auto scale = static_cast<float>(scaleOf<Odd>(Count));
  const Vector even = combine<HalfRows<M, One, Other, 1>>(x), odd = combineScaled<Odd>(x);
  one = even + scale * odd;
  other = even - scale * odd;
}

// A matrix to points: the two of a pair share their products.
template <class M>
struct ToPoints {
  template <class Vector, int Columns, int Rows>
  TILEFOLD_INLINE static void apply(const Vector (&x)[Columns], Vector (&y)[Rows]) {
    forConstants<0, M::rows>([&](auto row) TILEFOLD_INLINED {
      constexpr int i = row;
      if constexpr (isFirstOfPair(i, M::rows)) {
        combinePair<M, i, i + 1>(x, y[i], y[i + 1]);
      } else if constexpr (!isSecondOfPair(i, M::rows)) {
        y[i] = combine<WholeRow<M, i>>(x);
      }
    });
  }
};

// From points likewise.
template <class M>
struct FromPoints {
  template <class Vector, int Columns, int Rows>
  TILEFOLD_INLINE static void apply(const Vector (&x)[Columns], Vector (&y)[Rows]) {
    Vector paired[M::columns];
    forConstants<0, M::columns>([&](auto column) TILEFOLD_INLINED {
      constexpr int k = column;
      if constexpr (isFirstOfPair(k, M::columns)) {
        paired[k] = x[k] + x[k + 1];
        paired[k + 1] = x[k] - x[k + 1];
      } else if constexpr (!isSecondOfPair(k, M::columns)) {
        paired[k] = x[k];
      }
    });
    forConstants<0, M::rows>([&](auto row) TILEFOLD_INLINED { y[row] = combine<PairedRow<M, row>>(paired); });
  }
};

// Where the i-th pixel of an axis and its i-th point stand among those of a whole tile.
template <int>
constexpr int pixelAt(int, int i) {
  return i;
}
template <int Largest>
constexpr int pointAt(int results, int i) {
  return i == results + 1 ? Largest + 1 : i;
}

template <int Largest, int Results>
struct PixelsToPoints : ToPoints<PixelsToPoints<Largest, Results>> {
  static constexpr int rows = Results + 2, columns = Results + 2;
  static constexpr auto matrix = pixelsToPoints<Largest, Results>();
  static constexpr auto from = pixelAt<Largest>, to = pointAt<Largest>;
};
template <int Largest, int Results>
struct PointsToResults : FromPoints<PointsToResults<Largest, Results>> {
  static constexpr int rows = Results, columns = Results + 2;
  static constexpr auto matrix = pointsToResults<Largest, Results>();
  static constexpr auto from = pointAt<Largest>, to = pixelAt<Largest>;
};
template <int Largest, int Results>
struct ResultsToPoints : ToPoints<ResultsToPoints<Largest, Results>> {
  static constexpr int rows = Results + 2, columns = Results;
  static constexpr auto matrix = pointsToResults<Largest, Results>().transposed();
  static constexpr auto from = pixelAt<Largest>, to = pointAt<Largest>;
};
template <int Largest>
struct TapsToPoints : ToPoints<TapsToPoints<Largest>> {
  static constexpr int rows = Largest + 2, columns = 3;
  static constexpr auto matrix = tapsToPoints<Largest>();
};
template <int Largest>
struct PointsToTaps : FromPoints<PointsToTaps<Largest>> {
  static constexpr int rows = 3, columns = Largest + 2;
  static constexpr auto matrix = tapsToPoints<Largest>().transposed();
};

// Along an axis: of each load(i) M::apply makes what store(i, made) takes.
template <int Width, class M, class Load, class Store>
TILEFOLD_INLINE void transformLine(const Load& load, const Store& store) {
  Vector<Width> from[M::columns], to[M::rows];
#pragma GCC unroll 8
  for (int i = 0; i < M::columns; ++i) from[i] = load(i);
  M::apply(from, to);
#pragma GCC unroll 8
  for (int i = 0; i < M::rows; ++i) store(i, to[i]);
}

}  // namespace tilefold::cpu::winograd
