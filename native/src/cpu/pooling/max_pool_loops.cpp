#include "max_pool_loops.hpp"

#include <algorithm>
#include <limits>

#include "../processor/streaming.hpp"
#include "../vectors/pixel_vectors.hpp"

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 takes vectors that it splits, where registers are narrower, for never written.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace tilefold::cpu {
namespace {

// Taps first .. end - 1 of a window that begins at `from` read what lies in an axis.
struct Taps {
  TILEFOLD_INLINE Taps(const WindowAxis& axis, std::int64_t from) : first(0), end(axis.kernel) {
    while (first < end && from + first * axis.dilation < 0) ++first;
    while (end > first && from + (end - 1) * axis.dilation >= axis.in) --end;
  }
  std::int64_t first, end;
};

template <int Block, class T>
struct Winner {
  using P = Pixel<Block, T>;
  using Integers = typename P::Vector::Integers;

  TILEFOLD_INLINE void begin(const P& candidate, std::int32_t tap) {
    held = candidate;
    for (int v = 0; v < P::vectors; ++v) taps[v] = Integers{} + tap;
  }
  // Greater, or no number where the held one is a number.
  TILEFOLD_INLINE void take(const P& candidate, std::int32_t tap) {
    for (int v = 0; v < P::vectors; ++v) {
      const auto own = held.values[v], other = candidate.values[v];
      const Integers wins = ~(other <= own) & (own == own);
      held.values[v] = wins ? other : own;
      taps[v] = wins ? Integers{} + tap : taps[v];
    }
  }
  TILEFOLD_INLINE void put(T* value, std::uint8_t* index) const {
    held.putExact(value);
    P::putBytes(index, taps);
  }

  P held;
  Integers taps[P::vectors];
};

// Where the taps of a window are, in elements, and how many of its rows are read before the next
// row of windows.
struct WindowSteps {
  std::int64_t below, right, ahead;
};

// Of a window that lies in the input, with Kernel by Kernel taps.
template <int Block, int Kernel, class T>
TILEFOLD_INLINE void poolWhole(const T* source, const WindowSteps& window, T* value, std::uint8_t* index) {
  using P = Pixel<Block, T>;
  Winner<Block, T> winner;
  winner.begin(P::at(source), 0);
  for (int tap = 1; tap < Kernel * Kernel; ++tap) winner.take(P::at(source + tap / Kernel * window.below + tap % Kernel * window.right), tap);
  // As in gather_loops.cpp.
  for (int y = 0; y < Kernel; ++y) __builtin_prefetch(source + window.ahead + y * window.below, 0, 2);
  winner.put(value, index);
}

template <int Block, class T>
TILEFOLD_INLINE void poolPart(const T* source, const WindowSteps& window, const Taps& rows, const Taps& columns, std::int64_t kernelWidth, T* value,
                              std::uint8_t* index) {
  using P = Pixel<Block, T>;
  Winner<Block, T> winner{};
  P nothing;
  for (int v = 0; v < P::vectors; ++v) nothing.values[v] = typename P::Vector::Floats{} - std::numeric_limits<float>::infinity();
  winner.begin(nothing, 255);
  for (std::int64_t ky = rows.first; ky < rows.end; ++ky)
    for (std::int64_t kx = columns.first; kx < columns.end; ++kx) {
      const P candidate = P::at(source + ky * window.below + kx * window.right);
      const auto tap = static_cast<std::int32_t>(ky * kernelWidth + kx);
      if (ky == rows.first && kx == columns.first)
        winner.begin(candidate, tap);
      else
        winner.take(candidate, tap);
    }
  winner.put(value, index);
}

// Windows of Kernel by Kernel taps; of any for 0.
template <int Block, int Kernel, class T>
TILEFOLD_INLINE void maxPoolRowOf(const PoolRow<T>& row, T* values, std::uint8_t* indices) {
  const WindowAxis rows = row.rows, columns = row.columns;
  const Taps inRows(rows, row.top);
  const std::int64_t line = columns.in * Block;
  const WindowSteps window{rows.dilation * line, columns.dilation * Block, rows.stride * line};
  const bool wholeRows = Kernel > 0 && inRows.first == 0 && inRows.end == Kernel;
  for (std::int64_t x = 0; x < columns.out; ++x) {
    const std::int64_t left = x * columns.stride - columns.padBefore, last = left + (columns.kernel - 1) * columns.dilation;
    const T* source = row.source + row.top * line + left * Block;
    if constexpr (Kernel > 0)
      if (wholeRows && left >= 0 && last < columns.in) {
        poolWhole<Block, Kernel>(source, window, values + x * Block, indices + x * Block);
        continue;
      }
    poolPart<Block>(source, window, inRows, Taps(columns, left), columns.kernel, values + x * Block, indices + x * Block);
  }
}

template <int Block, class T>
TILEFOLD_INLINE void maxPoolRowBlock(const PoolRow<T>& row, T* values, std::uint8_t* indices) {
  const std::int64_t kernel = row.rows.kernel == row.columns.kernel ? row.rows.kernel : 0;
  if (kernel == 2)
    maxPoolRowOf<Block, 2>(row, values, indices);
  else if (kernel == 3)
    maxPoolRowOf<Block, 3>(row, values, indices);
  else
    maxPoolRowOf<Block, 0>(row, values, indices);
}

template <int Block, class T>
TILEFOLD_INLINE void gradientPixel(const PoolGradientRow<T>& row, std::int64_t x, T* gradient) {
  using P = Pixel<Block, T>;
  P sum = {};
  for (const WindowPlace* y = row.firstRow; y != row.endRow; ++y)
    for (const WindowPlace* at = row.columns.first(x); at != row.columns.end(x); ++at) {
      const std::int64_t element = (y->output * row.outWidth + at->output) * Block;
      const auto tap = static_cast<std::int32_t>(y->tap * row.kernelWidth + at->tap);
      const P received = P::at(row.received + element);
      typename P::Vector::Integers taps[P::vectors];
      P::bytesAt(row.indices + element, taps);
      for (int v = 0; v < P::vectors; ++v) sum.values[v] += taps[v] == tap ? received.values[v] : typename P::Vector::Floats{};
    }
  sum.put(gradient);
}

// What a run of pixels becomes while it lies in a cache.
constexpr std::int64_t longestRun = 128;

// Inputs from .. to - 1 of a row.
template <int Block, class T>
TILEFOLD_INLINE void gradientRun(const PoolGradientRow<T>& row, std::int64_t from, std::int64_t to, T* gradient) {
  for (std::int64_t x = from; x < to; ++x) gradientPixel<Block>(row, x, gradient + (x - from) * Block);
}

// Of the windows that hold them and no others; each gives what it received to one input of this row
// at most.
template <int Block, class T>
TILEFOLD_INLINE void disjointRun(const PoolGradientRow<T>& row, std::int64_t from, std::int64_t to, T* gradient) {
  using P = Pixel<Block, T>;
  const std::int64_t kernel = row.disjoint->kernel, pad = row.disjoint->padBefore, outputs = row.disjoint->out;
  const std::int64_t base = row.firstRow->output * row.outWidth, firstTap = row.firstRow->tap * row.kernelWidth;
  std::int64_t x = from;
  for (std::int64_t o = (from + pad) / kernel; o < outputs && x < to; ++o) {
    const P received = P::at(row.received + (base + o) * Block);
    typename P::Vector::Integers taps[P::vectors];
    P::bytesAt(row.indices + (base + o) * Block, taps);
    for (std::int64_t kx = x + pad - o * kernel; kx < kernel && x < to; ++kx, ++x) {
      P pixel;
      for (int v = 0; v < P::vectors; ++v)
        pixel.values[v] = taps[v] == static_cast<std::int32_t>(firstTap + kx) ? received.values[v] : typename P::Vector::Floats{};
      pixel.putExact(gradient + (x - from) * Block);
    }
  }
  std::fill(gradient + (x - from) * Block, gradient + (to - from) * Block, T(0.0F));
}

template <int Block, class T>
TILEFOLD_INLINE void maxPoolGradientRowBlock(const PoolGradientRow<T>& row, T* gradient) {
  alignas(64) T held[longestRun * Block];
  const bool isDisjoint = row.disjoint != nullptr && row.endRow - row.firstRow == 1;
  for (std::int64_t from = 0; from < row.columns.count; from += longestRun) {
    const std::int64_t to = std::min(from + longestRun, row.columns.count);
    T* own = row.streams ? held : gradient + from * Block;
    if (isDisjoint)
      disjointRun<Block>(row, from, to, own);
    else
      gradientRun<Block>(row, from, to, own);
    if (row.streams) stream(held, gradient + from * Block, static_cast<std::size_t>((to - from) * Block) * sizeof(T));
  }
}

}  // namespace

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

template void maxPoolRow(const PoolRow<float>&, float*, std::uint8_t*, std::int64_t);
template void maxPoolRow(const PoolRow<Bfloat16>&, Bfloat16*, std::uint8_t*, std::int64_t);
template void maxPoolGradientRow(const PoolGradientRow<float>&, float*, std::int64_t);
template void maxPoolGradientRow(const PoolGradientRow<Bfloat16>&, Bfloat16*, std::int64_t);

}  // namespace tilefold::cpu
