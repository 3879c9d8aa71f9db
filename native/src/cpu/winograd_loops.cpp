#include "winograd_loops.hpp"

#include "constants.hpp"
#include "winograd_vectors.hpp"

namespace tilefold::cpu::winograd {
namespace {

// The points +-a and +-b, and what the transforms hold of them.
constexpr float a = 0.625F, b = 1.5F, a2 = a * a, b2 = b * b, a3 = a2 * a, b3 = b2 * b;

// Along an axis of so many results, 2 to 4: where 4 have the points 0, a, -a, b, -b and infinity, 3
// leave out -b, and 2 also b.
template <int Results>
constexpr int pointAt(int i) {
  return i == Results + 1 ? 5 : i;
}

// Rows of B^T: the products of (x - every other point). G's rows are divided by the distances to
// all six points, so these are multiplied by those to the points that are left out.
template <int Results>
TILEFOLD_INLINE void toPoints(const Vector (&d)[Results + 2], Vector (&v)[Results + 2]) {
  if constexpr (Results == 4) {
    v[0] = d[4] + (a2 * b2) * d[0] - (a2 + b2) * d[2];
    v[5] = d[5] + (a2 * b2) * d[1] - (a2 + b2) * d[3];
    const Vector evenA = d[4] - b2 * d[2], oddA = d[3] - b2 * d[1];
    v[1] = evenA + a * oddA;
    v[2] = evenA - a * oddA;
    const Vector evenB = d[4] - a2 * d[2], oddB = d[3] - a2 * d[1];
    v[3] = evenB + b * oddB;
    v[4] = evenB - b * oddB;
  } else if constexpr (Results == 3) {
    const Vector odd = d[3] - a2 * d[1], even = d[2] - a2 * d[0];
    v[0] = b * odd - b2 * even;
    const Vector rise = d[3] - b * d[2], run = d[2] - b * d[1];
    v[1] = (b + a) * (rise + a * run);
    v[2] = (b - a) * (rise - a * run);
    v[3] = (2 * b) * odd;
    v[4] = (d[4] - a2 * d[2]) - b * odd;
  } else {
    v[0] = (a2 * b2) * d[0] - b2 * d[2];
    const Vector even = (a2 - b2) * d[2], odd = (a * (a2 - b2)) * d[1];
    v[1] = even + odd;
    v[2] = even - odd;
    v[3] = d[3] - a2 * d[1];
  }
}

// A^T: the polynomial's coefficients times the powers of the points.
template <int Results>
TILEFOLD_INLINE void fromPoints(const Vector (&m)[Results + 2], Vector (&y)[Results]) {
  const Vector sumA = m[1] + m[2], differenceA = m[1] - m[2];
  if constexpr (Results == 4) {
    const Vector sumB = m[3] + m[4], differenceB = m[3] - m[4];
    y[0] = m[0] + sumA + sumB;
    y[1] = a * differenceA + b * differenceB;
    y[2] = a2 * sumA + b2 * sumB;
    y[3] = a3 * differenceA + b3 * differenceB + m[5];
  } else if constexpr (Results == 3) {
    y[0] = m[0] + sumA + m[3];
    y[1] = a * differenceA + b * m[3];
    y[2] = a2 * sumA + b2 * m[3] + m[4];
  } else {
    y[0] = m[0] + sumA;
    y[1] = a * differenceA + m[3];
  }
}

// A, the transpose.
template <int Results>
TILEFOLD_INLINE void gradientToPoints(const Vector (&y)[Results], Vector (&m)[Results + 2]) {
  m[0] = y[0];
  m[Results + 1] = y[Results - 1];
  if constexpr (Results == 4) {
    const Vector evenA = y[0] + a2 * y[2], oddA = a * y[1] + a3 * y[3];
    m[1] = evenA + oddA;
    m[2] = evenA - oddA;
    const Vector evenB = y[0] + b2 * y[2], oddB = b * y[1] + b3 * y[3];
    m[3] = evenB + oddB;
    m[4] = evenB - oddB;
  } else if constexpr (Results == 3) {
    const Vector evenA = y[0] + a2 * y[2];
    m[1] = evenA + a * y[1];
    m[2] = evenA - a * y[1];
    m[3] = y[0] + b * y[1] + b2 * y[2];
  } else {
    m[1] = y[0] + a * y[1];
    m[2] = y[0] - a * y[1];
  }
}

// Rows of G: 1, x, x^2 over the product of (x - every other point).
constexpr float overZero = 1 / (a2 * b2), overA = 1 / (2 * a2 * (a2 - b2)), overB = 1 / (2 * b2 * (b2 - a2));

// Two that share their products: of 0 and infinity (Pair 0), of a and -a (1) or of b and -b (2).
template <int Pair>
TILEFOLD_INLINE void tapsToPair(const Vector (&g)[3], Vector& first, Vector& second) {
  if constexpr (Pair == 0) {
    first = overZero * g[0];
    second = g[2];
  } else {
    constexpr float over = Pair == 1 ? overA : overB, point = Pair == 1 ? a : b;
    const Vector even = over * (g[0] + (point * point) * g[2]), odd = (over * point) * g[1];
    first = even + odd;
    second = even - odd;
  }
}

TILEFOLD_INLINE void tapsToPoints(const Vector (&g)[3], Vector (&u)[6]) {
  tapsToPair<0>(g, u[0], u[5]);
  tapsToPair<1>(g, u[1], u[2]);
  tapsToPair<2>(g, u[3], u[4]);
}

// Two rows of positions of all vectors: twelve lines are written on, where 36 would drive each
// other out of the cache, since powers of two lie between them.
template <int Pair>
TILEFOLD_INLINE void transformRowsOfTaps(const float* weights, std::int64_t count, float* first, float* second, std::int64_t positionStride) {
  for (std::int64_t k = 0; k < count; ++k) {
    Vector rows[2][3];
#pragma GCC unroll 3
    for (int j = 0; j < 3; ++j) {
      const Vector column[3] = {at(weights + j * lanes), at(weights + (3 + j) * lanes), at(weights + (6 + j) * lanes)};
      tapsToPair<Pair>(column, rows[0][j], rows[1][j]);
    }
    weights += taps * lanes;
#pragma GCC unroll 2
    for (int row = 0; row < 2; ++row) {
      Vector points[6];
      tapsToPoints(rows[row], points);
      float* to = (row == 0 ? first : second) + k * lanes;
#pragma GCC unroll 6
      for (int j = 0; j < 6; ++j) at(to + j * positionStride) = points[j];
    }
  }
}

// G^T.
TILEFOLD_INLINE void tapsFromPoints(const Vector (&m)[6], Vector (&g)[3]) {
  const Vector sumA = overA * (m[1] + m[2]), sumB = overB * (m[3] + m[4]);
  g[0] = overZero * m[0] + sumA + sumB;
  g[1] = (overA * a) * (m[1] - m[2]) + (overB * b) * (m[3] - m[4]);
  g[2] = a2 * sumA + b2 * sumB + m[5];
}

// A separable transform: columns first, then rows, which need not be as long. `load(i, j)` gives an
// element, and `store(i, j, vector)` takes one.
template <int FromRows, int ToRows, int FromColumns, int ToColumns, class Load, class AlongColumn, class AlongRow, class Store>
TILEFOLD_INLINE void transformBothWays(const Load& load, const AlongColumn& alongColumn, const AlongRow& alongRow, const Store& store) {
  Vector half[ToRows][FromColumns];
#pragma GCC unroll 6
  for (int j = 0; j < FromColumns; ++j) {
    Vector column[FromRows], result[ToRows];
#pragma GCC unroll 6
    for (int i = 0; i < FromRows; ++i) column[i] = at(load(i, j));
    alongColumn(column, result);
#pragma GCC unroll 6
    for (int i = 0; i < ToRows; ++i) half[i][j] = result[i];
  }
#pragma GCC unroll 6
  for (int i = 0; i < ToRows; ++i) {
    Vector result[ToColumns];
    alongRow(half[i], result);
#pragma GCC unroll 6
    for (int j = 0; j < ToColumns; ++j) store(i, j, result[j]);
  }
}

// Runs body(rows, columns, arguments), of whose first two constants are made, for the processor.
// Whole tiles, which are most, have a function of their own.
template <class Body, class... Arguments>
void forTile(const TileSize& size, Body body, Arguments... arguments) {
  using Whole = std::integral_constant<int, step>;
  if (size.rows == step && size.columns == step)
    return forProcessor([](auto body, auto... arguments) TILEFOLD_INLINED { body(Whole{}, Whole{}, arguments...); }, body, arguments...);
  forProcessor(
      [](auto body, auto size, auto... arguments) TILEFOLD_INLINED {
        withConstant<minStep, step>(size.rows, [&](auto rows) TILEFOLD_INLINED {
          withConstant<minStep, step>(size.columns, [&](auto columns) TILEFOLD_INLINED { body(rows, columns, arguments...); });
        });
      },
      body, size, arguments...);
}

}  // namespace

template <class Source>
void transformWindow(const Source& pixels, const TileSize& size, float* transformed, std::int64_t positionStride) {
  forTile(
      size,
      [](auto rows, auto columns, auto pixels, auto transformed, auto positionStride) TILEFOLD_INLINED {
        constexpr int Rows = rows, Columns = columns;
        transformBothWays<Rows + 2, Rows + 2, Columns + 2, Columns + 2>(
            *pixels, toPoints<Rows>, toPoints<Columns>,
            [=](int i, int j, const Vector& value) {
              at(transformed + (pointAt<Rows>(i) * 6 + pointAt<Columns>(j)) * positionStride) = value;
            });
      },
      &pixels, transformed, positionStride);
}

template <class Source>
void transformGradient(const Source& pixels, const TileSize& size, float* transformed, std::int64_t positionStride, float* sum) {
  forTile(
      size,
      [](auto rows, auto columns, auto pixels, auto transformed, auto positionStride, auto sum) TILEFOLD_INLINED {
        constexpr int Rows = rows, Columns = columns;
        Vector total = at(sum);
        for (int i = 0; i < Rows; ++i) {
          Vector ofRow = at((*pixels)(i, 0)) + at((*pixels)(i, 1));
          if constexpr (Columns == 4) ofRow += at((*pixels)(i, 2)) + at((*pixels)(i, 3));
          if constexpr (Columns == 3) ofRow += at((*pixels)(i, 2));
          total += ofRow;
        }
        at(sum) = total;
        transformBothWays<Rows, Rows + 2, Columns, Columns + 2>(
            *pixels, gradientToPoints<Rows>, gradientToPoints<Columns>,
            [=](int i, int j, const Vector& value) {
              at(transformed + (pointAt<Rows>(i) * 6 + pointAt<Columns>(j)) * positionStride) = value;
            });
      },
      &pixels, transformed, positionStride, sum);
}

void transformTaps(const float* weights, std::int64_t count, float* transformed, std::int64_t positionStride) {
  forProcessor(
      [](auto weights, auto count, auto transformed, auto positionStride) TILEFOLD_INLINED {
        const auto row = [=](int i) { return transformed + i * window * positionStride; };
        transformRowsOfTaps<0>(weights, count, row(0), row(5), positionStride);
        transformRowsOfTaps<1>(weights, count, row(1), row(2), positionStride);
        transformRowsOfTaps<2>(weights, count, row(3), row(4), positionStride);
      },
      weights, count, transformed, positionStride);
}

template <class T>
void restoreTile(const float* products, std::int64_t positionStride, const Finish& finish, const TileSize& size,
                 const PixelGrid<T>& pixels) {
  forTile(
      size,
      [](auto rows, auto columns, auto products, auto positionStride, auto start, auto slope, auto pixels) TILEFOLD_INLINED {
        constexpr int Rows = rows, Columns = columns;
        transformBothWays<Rows + 2, Rows, Columns + 2, Columns>(
            [=](int i, int j) { return products + (pointAt<Rows>(i) * 6 + pointAt<Columns>(j)) * positionStride; }, fromPoints<Rows>,
            fromPoints<Columns>,
            [=](int i, int j, const Vector& value) { put(pixels(i, j), value + at(start)); });
        if (slope == 1) return;
        for (int i = 0; i < Rows; ++i)
          for (int j = 0; j < Columns; ++j) {
            auto* pixel = pixels(i, j);
            const auto value = [=](std::int64_t k) -> float { return pixel[k]; };
            rectifyEach(lanes, slope, value, value, pixel);
          }
      },
      products, positionStride, finish.start, finish.slope, pixels);
}

void restoreTaps(const float* products, std::int64_t positionStride, double* sums, std::int64_t tapStride) {
  forProcessor(
      [](auto products, auto positionStride, auto sums, auto tapStride) TILEFOLD_INLINED {
        transformBothWays<6, 3, 6, 3>([=](int i, int j) { return products + (i * 6 + j) * positionStride; }, tapsFromPoints, tapsFromPoints,
                                      [=](int i, int j, const Vector& value) {
                                        double* sum = sums + (i * 3 + j) * tapStride;
                                        for (int lane = 0; lane < lanes; ++lane) sum[lane] += static_cast<double>(value[lane]);
                                      });
      },
      products, positionStride, sums, tapStride);
}

#define TILEFOLD_INSTANTIATE(Source)                                                   \
  template void transformWindow(const Source&, const TileSize&, float*, std::int64_t); \
  template void transformGradient(const Source&, const TileSize&, float*, std::int64_t, float*);
TILEFOLD_INSTANTIATE(PixelGrid<const float>)
TILEFOLD_INSTANTIATE(PixelGrid<const Bfloat16>)
TILEFOLD_INSTANTIATE(PixelAddresses<const float>)
TILEFOLD_INSTANTIATE(PixelAddresses<const Bfloat16>)
#undef TILEFOLD_INSTANTIATE
template void restoreTile(const float*, std::int64_t, const Finish&, const TileSize&, const PixelGrid<float>&);
template void restoreTile(const float*, std::int64_t, const Finish&, const TileSize&, const PixelGrid<Bfloat16>&);

}  // namespace tilefold::cpu::winograd
