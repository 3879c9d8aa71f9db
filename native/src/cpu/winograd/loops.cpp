#include "loops.hpp"

#include <utility>

#include "axis.hpp"

namespace tilefold::cpu::winograd {
namespace {

// A separable transform, unrolled: columns first, then rows.
template <int Width, class M, class Load, class Store>
TILEFOLD_INLINE void transformBothWays(const Load& load, const Store& store) {
  Vector<Width> half[M::rows][M::columns];
#pragma GCC unroll 8
  for (int j = 0; j < M::columns; ++j)
    transformLine<Width, M>([&](int i) TILEFOLD_INLINED { return load(i, j); },
                            [&](int i, const Vector<Width>& value) TILEFOLD_INLINED { half[i][j] = value; });
#pragma GCC unroll 8
  for (int i = 0; i < M::rows; ++i)
    transformLine<Width, M>([&](int j) TILEFOLD_INLINED { return half[i][j]; },
                            [&](int j, const Vector<Width>& value) TILEFOLD_INLINED { store(i, j, value); });
}

// Of a smaller tile: one loop over columns and one over rows for each number of results, not for
// each pair of them.
template <int Width, int Largest, template <int, int> class M, class Load, class Store>
TILEFOLD_INLINE void transformSmaller(const TileSize& size, const Load& load, const Store& store) {
  Vector<Width> half[window<Largest>][window<Largest>] = {};
  const int rows = static_cast<int>(size.rows), columns = static_cast<int>(size.columns);
  withConstant<minStep, Largest>(rows, [&](auto results) TILEFOLD_INLINED {
    using Along = M<Largest, decltype(results)::value>;
    for (int j = 0; j < columns + M<Largest, Largest>::columns - Largest; ++j)
      transformLine<Width, Along>([&](int i) TILEFOLD_INLINED { return load(Along::from(results, i), Along::from(columns, j)); },
                                  [&](int i, const Vector<Width>& value) TILEFOLD_INLINED { half[i][j] = value; });
  });
  withConstant<minStep, Largest>(columns, [&](auto results) TILEFOLD_INLINED {
    using Along = M<Largest, decltype(results)::value>;
    for (int i = 0; i < rows + M<Largest, Largest>::rows - Largest; ++i)
      transformLine<Width, Along>([&](int j) TILEFOLD_INLINED { return half[i][j]; },
                                  [&](int j, const Vector<Width>& value)
                                      TILEFOLD_INLINED { store(Along::to(rows, i), Along::to(results, j), value); });
  });
}

// Whole tiles, which are most, have a function of their own. `Make` gives load and store from the
// arguments.
template <int Width, int Largest, template <int, int> class M, class Make, class... Arguments>
void transformTile(const TileSize& size, Make make, Arguments... arguments) {
  if (size.rows == Largest && size.columns == Largest)
    return forWidth<Width>(
        [](auto make, auto... arguments) TILEFOLD_INLINED {
          const auto [load, store] = make(arguments...);
          transformBothWays<Width, M<Largest, Largest>>(load, store);
        },
        make, arguments...);
  forWidth<Width>(
      [](auto size, auto make, auto... arguments) TILEFOLD_INLINED {
        const auto [load, store] = make(arguments...);
        transformSmaller<Width, Largest, M>(size, load, store);
      },
      size, make, arguments...);
}

// From pixels to points: a vector for each position.
template <int Width, int Largest, template <int, int> class M, class T>
void transformPixels(const PixelGrid<const T>& pixels, const TileSize& size, float* transformed, std::int64_t positionStride) {
  transformTile<Width, Largest, M>(
      size,
      [](auto pixels, auto transformed, auto positionStride) TILEFOLD_INLINED {
        return std::pair([=](int i, int j) TILEFOLD_INLINED { return Vector<Width>(at<Width>((*pixels)(i, j))); },
                         [=](int i, int j, const Vector<Width>& value)
                             TILEFOLD_INLINED { put<Width>(transformed + (i * window<Largest> + j) * positionStride, value); });
      },
      &pixels, transformed, positionStride);
}

// Two rows of positions of all vectors: fewer lines are written on than all positions have, which
// would drive each other out of the cache, since powers of two lie between them.
template <int Width, int Largest, int One, int Other>
TILEFOLD_INLINE void transformRowsOfTaps(const float* weights, const TapStrides& strides, std::int64_t count, float* toOne, float* toOther,
                                         std::int64_t positionStride, std::int64_t step) {
  for (std::int64_t k = 0; k < count; ++k, weights += strides.vector, toOne += step, toOther += step) {
    Vector<Width> one[3], other[3];
    forConstants<0, 3>([&](auto j) TILEFOLD_INLINED {
      const Vector<Width> column[3] = {at<Width>(weights + j * strides.tap), at<Width>(weights + (3 + j) * strides.tap),
                                       at<Width>(weights + (6 + j) * strides.tap)};
      if constexpr (isFirstOfPair(One, window<Largest>)) {
        combinePair<TapsToPoints<Largest>, One, Other>(column, one[j], other[j]);
      } else {
        one[j] = combine<WholeRow<TapsToPoints<Largest>, One>>(column);
        other[j] = combine<WholeRow<TapsToPoints<Largest>, Other>>(column);
      }
    });
    const auto alongRow = [&](const Vector<Width>(&row)[3], float* to) TILEFOLD_INLINED {
      transformLine<Width, TapsToPoints<Largest>>([&](int j) TILEFOLD_INLINED { return row[j]; },
                                                  [&](int j, const Vector<Width>& value)
                                                      TILEFOLD_INLINED { put<Width>(to + j * positionStride, value); });
    };
    alongRow(one, toOne);
    alongRow(other, toOther);
  }
}

}  // namespace

template <int Width, int Largest, class T>
void transformWindow(const PixelGrid<const T>& pixels, const TileSize& size, float* transformed, std::int64_t positionStride) {
  transformPixels<Width, Largest, PixelsToPoints>(pixels, size, transformed, positionStride);
}

template <int Width, int Largest, class T>
void transformGradient(const PixelGrid<const T>& pixels, const TileSize& size, float* transformed, std::int64_t positionStride,
                       float* sum) {
  forWidth<Width>(
      [](auto pixels, auto rows, auto columns, auto sum) TILEFOLD_INLINED {
        Vector<Width> total = at<Width>(sum);
        for (std::int64_t i = 0; i < rows; ++i) {
          Vector<Width> ofRow = at<Width>((*pixels)(i, 0));
          for (std::int64_t j = 1; j < columns; ++j) ofRow += at<Width>((*pixels)(i, j));
          total += ofRow;
        }
        put<Width>(sum, total);
      },
      &pixels, size.rows, size.columns, sum);
  transformPixels<Width, Largest, ResultsToPoints>(pixels, size, transformed, positionStride);
}

template <int Width, int Largest>
void transformTaps(const float* weights, std::int64_t count, float* transformed, std::int64_t positionStride) {
  forWidth<Width>(
      [](auto weights, auto count, auto transformed, auto positionStride) TILEFOLD_INLINED {
        forConstants<0, rowPairs<Largest>>([&](auto pair) TILEFOLD_INLINED {
          constexpr RowPair rows = rowPairAt<Largest>(pair);
          const std::int64_t rowStride = window<Largest> * positionStride;
          transformRowsOfTaps<Width, Largest, rows.one, rows.other>(weights, {taps * Width, Width}, count,
                                                                    transformed + rows.one * rowStride,
                                                                    transformed + rows.other * rowStride, positionStride, Width);
        });
      },
      weights, count, transformed, positionStride);
}

template <int Width, int Largest>
void transformTapRows(std::int64_t pair, const float* weights, const TapStrides& strides, std::int64_t count, float* transformed,
                      std::int64_t positionStride, std::int64_t step) {
  forWidth<Width>(
      [](auto pair, auto weights, auto strides, auto count, auto transformed, auto positionStride, auto step) TILEFOLD_INLINED {
        withConstant<0, rowPairs<Largest> - 1>(pair, [=](auto constant) TILEFOLD_INLINED {
          constexpr RowPair rows = rowPairAt<Largest>(decltype(constant)::value);
          transformRowsOfTaps<Width, Largest, rows.one, rows.other>(weights, strides, count, transformed,
                                                                    transformed + window<Largest> * positionStride, positionStride, step);
        });
      },
      pair, weights, strides, count, transformed, positionStride, step);
}

template <int Width, int Largest, class T>
void restoreTile(const float* products, std::int64_t positionStride, const Finish& finish, const TileSize& size,
                 const PixelGrid<T>& pixels) {
  transformTile<Width, Largest, PointsToResults>(
      size,
      [](auto products, auto positionStride, auto start, auto pixels) TILEFOLD_INLINED {
        return std::pair(
            [=](int i, int j) TILEFOLD_INLINED { return Vector<Width>(at<Width>(products + (i * window<Largest> + j) * positionStride)); },
            [=](int i, int j, const Vector<Width>& value) TILEFOLD_INLINED { put<Width>(pixels(i, j), value + at<Width>(start)); });
      },
      products, positionStride, finish.start, pixels);
  if (finish.slope == 1) return;
  forWidth<Width>(
      [](auto rows, auto columns, auto slope, auto pixels) TILEFOLD_INLINED {
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            auto* pixel = pixels(i, j);
            const auto value = [=](std::int64_t k) -> float { return pixel[k]; };
            rectifyEach(Width, slope, value, value, pixel);
          }
      },
      size.rows, size.columns, finish.slope, pixels);
}

template <int Width, int Largest, class T>
void restoreTaps(const float* products, std::int64_t positionStride, T* sums, std::int64_t tapStride) {
  forWidth<Width>(
      [](auto products, auto positionStride, auto sums, auto tapStride) TILEFOLD_INLINED {
        transformBothWays<Width, PointsToTaps<Largest>>(
            [=](int i, int j) TILEFOLD_INLINED { return Vector<Width>(at<Width>(products + (i * window<Largest> + j) * positionStride)); },
            [=](int i, int j, const Vector<Width>& value) TILEFOLD_INLINED {
              T* sum = sums + (i * 3 + j) * tapStride;
              if constexpr (std::is_same_v<T, float>)
                put<Width>(sum, value);
              else
                for (int lane = 0; lane < Width; ++lane) sum[lane] += static_cast<double>(value[lane]);
            });
      },
      products, positionStride, sums, tapStride);
}

#define TILEFOLD_INSTANTIATE_PIXELS(Width, Largest, T)                                                                       \
  template void transformWindow<Width, Largest>(const PixelGrid<const T>&, const TileSize&, float*, std::int64_t);           \
  template void transformGradient<Width, Largest>(const PixelGrid<const T>&, const TileSize&, float*, std::int64_t, float*); \
  template void restoreTile<Width, Largest>(const float*, std::int64_t, const Finish&, const TileSize&, const PixelGrid<T>&);
#define TILEFOLD_INSTANTIATE(Width, Largest)                                                     \
  TILEFOLD_INSTANTIATE_PIXELS(Width, Largest, float)                                             \
  TILEFOLD_INSTANTIATE_PIXELS(Width, Largest, Bfloat16)                                          \
  template void transformTaps<Width, Largest>(const float*, std::int64_t, float*, std::int64_t); \
  template void restoreTaps<Width, Largest>(const float*, std::int64_t, double*, std::int64_t);  \
  template void restoreTaps<Width, Largest>(const float*, std::int64_t, float*, std::int64_t);
TILEFOLD_INSTANTIATE(8, 4)
TILEFOLD_INSTANTIATE(8, 6)
TILEFOLD_INSTANTIATE(16, 4)
TILEFOLD_INSTANTIATE(16, 6)
template void transformTapRows<8, 4>(std::int64_t, const float*, const TapStrides&, std::int64_t, float*, std::int64_t, std::int64_t);
template void transformTapRows<16, 4>(std::int64_t, const float*, const TapStrides&, std::int64_t, float*, std::int64_t, std::int64_t);
#undef TILEFOLD_INSTANTIATE
#undef TILEFOLD_INSTANTIATE_PIXELS

}  // namespace tilefold::cpu::winograd
