#include "tap_loops.hpp"

#include <algorithm>

#include "../vectors/constants.hpp"
#include "../vectors/inner_pixels.hpp"
#include "../vectors/lanes.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t longest = 64;  // pixels that are added one after another

// Pixels of which not every tap reads a place that there is.
template <int Block, int Rows, int Taps>
TILEFOLD_INLINE void addEdge(const TapRows& row, std::int64_t begin, std::int64_t end) {
  using Vector = Lanes<Block>;
  for (std::int64_t p = begin; p < end; ++p) {
    const std::int64_t place = p * row.stride + row.shift;
    const std::int64_t firstTap = std::max<std::int64_t>(0, -place), endTap = std::min<std::int64_t>(Taps, row.width - place);
    for (int r = 0; r < Rows; ++r)
      for (std::int64_t tap = firstTap; tap < endTap; ++tap) {
        float* sum = row.sums[r] + tap * Block;
        Vector::put(sum, Vector::at(sum) + row.sources[r][place + tap] * Vector::at(row.gradient + p * Block));
      }
  }
}

// At most `longest` pixels of which every tap reads a place: the sums stay in registers.
template <int Block, int Rows, int Taps>
TILEFOLD_INLINE void addWhole(const TapRows& row, std::int64_t begin, std::int64_t end) {
  using Vector = Lanes<Block>;
  typename Vector::Type sums[Rows][Taps] = {};
  const float* sources[Rows];
  for (int r = 0; r < Rows; ++r) sources[r] = row.sources[r] + begin * row.stride + row.shift;
  const float *gradient = row.gradient + begin * Block, *last = row.gradient + end * Block;
  for (std::int64_t place = 0; gradient < last; gradient += Block, place += row.stride) {
    const typename Vector::Type pixel = Vector::at(gradient);
#pragma GCC unroll 9
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 7
      for (int tap = 0; tap < Taps; ++tap) sums[r][tap] += sources[r][place + tap] * pixel;
  }
#pragma GCC unroll 9
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 7
    for (int tap = 0; tap < Taps; ++tap) {
      float* sum = row.sums[r] + tap * Block;
      Vector::put(sum, Vector::at(sum) + sums[r][tap]);
    }
}

template <int Block, int Rows, int Taps>
TILEFOLD_INLINE void addRow(const TapRows& row) {
  const auto [begin, end] = innerPixels(row.begin, row.end, row.stride, row.shift, Taps - 1, row.width);
  addEdge<Block, Rows, Taps>(row, row.begin, begin);
  for (std::int64_t p = begin; p < end; p += longest) addWhole<Block, Rows, Taps>(row, p, std::min(p + longest, end));
  addEdge<Block, Rows, Taps>(row, end, row.end);
}

template <int Block, int Taps>
TILEFOLD_INLINE void addRows(const TapRows& row) {
  if constexpr (maxTapRows * Taps <= maxTapSums)
    if (row.rows == maxTapRows) return addRow<Block, maxTapRows, Taps>(row);
  if (row.rows == 3) return addRow<Block, 3, Taps>(row);
  addRow<Block, 1, Taps>(row);
}

template <int Block>
TILEFOLD_INLINE void addBlock(const TapRows& row) {
  withConstant<1, maxTaps>(row.taps, [&](auto taps) TILEFOLD_INLINED { addRows<Block, decltype(taps)::value>(row); });
}

}  // namespace

std::int64_t tapRowsAtOnce(std::int64_t taps, std::int64_t rows, std::int64_t block) {
  const std::int64_t registers = block == 16 ? maxTapSums : 12;  // AVX2 has half as many
  for (const std::int64_t atOnce : {maxTapRows, std::int64_t{3}})
    if (atOnce <= rows && atOnce * taps <= registers) return atOnce;
  return 1;
}

void addTaps(const TapRows& row, std::int64_t block) {
  forProcessor([=, &row]() TILEFOLD_INLINED {
    if (block == 16)
      addBlock<16>(row);
    else
      addBlock<8>(row);
  });
}

void addToDoubles(const float* floats, double* doubles, std::int64_t count) {
  forProcessor([=]() TILEFOLD_INLINED {
    for (std::int64_t i = 0; i < count; ++i) doubles[i] += static_cast<double>(floats[i]);
  });
}

}  // namespace tilefold::cpu
