#include "lane_loops.hpp"

#include <cstring>
#include <limits>

#include "lanes.hpp"

namespace tilefold::cpu {
namespace {

// A run of pixels is summed in float and the runs in double: fast, and exact enough for millions of
// pixels.
template <int Block, class T>
TILEFOLD_INLINE void addPixelsBlock(const T* pixels, double* lanes, std::int64_t count) {
  constexpr std::int64_t run = 64;
  for (std::int64_t begin = 0; begin < count; begin += run) {
    const std::int64_t end = begin + run < count ? begin + run : count;
    typename Lanes<Block>::Type sum = {};
    for (std::int64_t p = begin; p < end; ++p) sum += Lanes<Block>::at(pixels + p * Block);
    addLanes<Block>(sum, lanes);
  }
}

template <int Block, bool Sum, class T>
TILEFOLD_INLINE void copyPixels(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t count) {
  for (std::int64_t p = 0; p < count; ++p) {
    T* pixel = to.first + p * to.step;
    if constexpr (Sum)
      Lanes<Block>::put(pixel, Lanes<Block>::at(pixel) + Lanes<Block>::at(from.first + p * from.step));
    else
      std::memcpy(static_cast<void*>(pixel), from.first + p * from.step, Block * sizeof(T));
  }
}

template <bool Sum, class T>
TILEFOLD_INLINE void copyLanesAs(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t lanes, std::int64_t count) {
  if (lanes == from.step && lanes == to.step) {
    if constexpr (Sum) {
#pragma omp simd
      for (std::int64_t i = 0; i < lanes * count; ++i) to.first[i] += from.first[i];
    } else {
      std::memcpy(static_cast<void*>(to.first), from.first, static_cast<std::size_t>(lanes * count) * sizeof(T));
    }
    return;
  }
  std::int64_t lane = 0;
  for (; lane + 16 <= lanes; lane += 16) copyPixels<16, Sum, T>({from.first + lane, from.step}, {to.first + lane, to.step}, count);
  for (; lane + 8 <= lanes; lane += 8) copyPixels<8, Sum, T>({from.first + lane, from.step}, {to.first + lane, to.step}, count);
  for (; lane < lanes; ++lane)
    for (std::int64_t p = 0; p < count; ++p) {
      T& element = to.first[p * to.step + lane];
      element = Sum ? static_cast<T>(element + from.first[p * from.step + lane]) : from.first[p * from.step + lane];
    }
}

// Taps first .. end - 1 of a window that begins at `from` read what lies in an axis.
struct Taps {
  TILEFOLD_INLINE Taps(const WindowAxis& axis, std::int64_t from) : first(0), end(axis.kernel) {
    while (first < end && from + first * axis.dilation < 0) ++first;
    while (end > first && from + (end - 1) * axis.dilation >= axis.in) --end;
  }
  std::int64_t first, end;
};

template <int Block, class T>
TILEFOLD_INLINE void maxPoolRowBlock(const PoolRow<T>& row, T* values, std::uint8_t* indices) {
  using Vector = Lanes<Block>;
  using Floats = typename Vector::Floats;
  using Integers = typename Vector::Integers;
  const WindowAxis rows = row.rows, columns = row.columns;
  const Taps inRows(rows, row.top);
  for (std::int64_t x = 0; x < columns.out; ++x) {
    const std::int64_t left = x * columns.stride - columns.padBefore;
    const Taps inColumns(columns, left);
    Floats held = Floats{} - std::numeric_limits<float>::infinity();
    Integers winner = Integers{} + 255;
    bool isFirst = true;
    for (std::int64_t ky = inRows.first; ky < inRows.end; ++ky)
      for (std::int64_t kx = inColumns.first; kx < inColumns.end; ++kx) {
        const std::int64_t y = row.top + ky * rows.dilation, column = left + kx * columns.dilation;
        const Floats candidate = Vector::at(row.source + (y * columns.in + column) * Block);
        // Greater, or no number where the held one is a number.
        const Integers wins = isFirst ? Integers{} - 1 : ~(candidate <= held) & (held == held);
        held = wins ? candidate : held;
        winner = wins ? Integers{} + static_cast<std::int32_t>(ky * columns.kernel + kx) : winner;
        isFirst = false;
      }
    Vector::put(values + x * Block, held);
    Vector::put(indices + x * Block, winner);
  }
}

template <int Block, class T>
TILEFOLD_INLINE void maxPoolGradientRowBlock(const PoolGradientRow<T>& row, T* gradient) {
  using Vector = Lanes<Block>;
  for (std::int64_t x = 0; x < row.columns.count; ++x) {
    typename Vector::Floats sum = {};
    for (const WindowPlace* y = row.firstRow; y != row.endRow; ++y)
      for (const WindowPlace* at = row.columns.first(x); at != row.columns.end(x); ++at) {
        const std::int64_t element = (y->output * row.outWidth + at->output) * Block;
        const auto wins = Vector::at(row.indices + element) == static_cast<std::int32_t>(y->tap * row.kernelWidth + at->tap);
        sum += wins ? typename Vector::Floats(Vector::at(row.received + element)) : typename Vector::Floats{};
      }
    Vector::put(gradient + x * Block, sum);
  }
}

}  // namespace

template <class T>
void copyLanes(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t lanes, std::int64_t count, bool sum) {
  forProcessor([=, &from, &to]() TILEFOLD_INLINED {
    if (sum)
      copyLanesAs<true>(from, to, lanes, count);
    else
      copyLanesAs<false>(from, to, lanes, count);
  });
}

void fillPixels(const float* lanes, float* pixels, std::int64_t count, std::int64_t block) {
  forProcessor([=]() TILEFOLD_INLINED {
    for (std::int64_t p = 0; p < count; ++p)
      if (block == 16)
        Lanes<16>::put(pixels + p * 16, Lanes<16>::at(lanes));
      else
        Lanes<8>::put(pixels + p * 8, Lanes<8>::at(lanes));
  });
}

template <class T>
void addPixels(const T* pixels, double* lanes, std::int64_t count, std::int64_t block) {
  forProcessor([=]() TILEFOLD_INLINED {
    if (block == 16)
      addPixelsBlock<16>(pixels, lanes, count);
    else
      addPixelsBlock<8>(pixels, lanes, count);
  });
}

template <class T>
void maxPoolRow(const PoolRow<T>& row, T* values, std::uint8_t* indices, std::int64_t block) {
  forProcessor([=, &row]() TILEFOLD_INLINED {
    if (block == 16)
      maxPoolRowBlock<16>(row, values, indices);
    else
      maxPoolRowBlock<8>(row, values, indices);
  });
}

template <class T>
void maxPoolGradientRow(const PoolGradientRow<T>& row, T* gradient, std::int64_t block) {
  forProcessor([=, &row]() TILEFOLD_INLINED {
    if (block == 16)
      maxPoolGradientRowBlock<16>(row, gradient);
    else
      maxPoolGradientRowBlock<8>(row, gradient);
  });
}

#define TILEFOLD_INSTANTIATE(T) \
  template void copyLanes(const PixelsFrom<T>&, const PixelsTo<T>&, std::int64_t, std::int64_t, bool); \
  template void addPixels(const T*, double*, std::int64_t, std::int64_t); \
  template void maxPoolRow(const PoolRow<T>&, T*, std::uint8_t*, std::int64_t); \
  template void maxPoolGradientRow(const PoolGradientRow<T>&, T*, std::int64_t);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
