#include "depthwise_loops.hpp"

#include <algorithm>

#include "../vectors/constants.hpp"
#include "../vectors/inner_pixels.hpp"
#include "../vectors/lanes.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t maxTaps = 7;  // side by side, that registers hold

// sum[lane] += products[lane]
template <int Block>
TILEFOLD_INLINE void addTo(float* sum, const typename Lanes<Block>::Floats& products) {
  Lanes<Block>::put(sum, Lanes<Block>::at(sum) + products);
}

// Pixels of which not every tap reads a place that there is.
template <int Block>
TILEFOLD_INLINE void addEdge(const DepthwiseRows& r, std::int64_t begin, std::int64_t end, float* sums) {
  using Vector = Lanes<Block>;
  for (std::int64_t p = begin; p < end; ++p)
    for (std::int64_t tap = 0; tap < r.taps; ++tap) {
      const std::int64_t place = p * r.stride + tap * r.dilation + r.shift;
      if (place < 0 || place >= r.width) continue;
      for (std::int64_t row = 0; row < r.rows; ++row)
        addTo<Block>(sums + (row * r.taps + tap) * Block,
                     Vector::at(r.sources[static_cast<std::size_t>(row)] + place * Block) * Vector::at(r.gradient + p * Block));
    }
}

// Sums of one tap, of neighbouring pixels: each waits for its last product.
template <int Rows, int Taps>
constexpr int sumsOfTap = Rows > 1 || Taps > 3 ? 1 : Taps == 1 ? 4 : 2;

// Pixels of which `Taps` taps all read a place: the sums stay in registers.
template <int Block, int Rows, int Taps>
TILEFOLD_INLINE void addTaps(const DepthwiseRows& r, std::int64_t firstRow, std::int64_t firstTap, std::int64_t begin, std::int64_t end,
                             float* sums) {
  using Vector = Lanes<Block>;
  constexpr int side = sumsOfTap<Rows, Taps>;
  typename Vector::Floats products[Rows][side][Taps] = {};
  const std::int64_t sourceStep = r.stride * Block, tapStep = r.dilation * Block, count = end - begin;
  const std::int64_t first = begin * r.stride + firstTap * r.dilation + r.shift;
  const float *gradient = r.gradient + begin * Block, *sources[Rows];
  for (int row = 0; row < Rows; ++row) sources[row] = r.sources[static_cast<std::size_t>(firstRow + row)] + first * Block;
  const auto addPixel = [&](int sum, std::int64_t p) TILEFOLD_INLINED {
    const typename Vector::Floats pixel = Vector::at(gradient + p * Block);
#pragma GCC unroll 3
    for (int row = 0; row < Rows; ++row)
#pragma GCC unroll 7
      for (int tap = 0; tap < Taps; ++tap) products[row][sum][tap] += Vector::at(sources[row] + p * sourceStep + tap * tapStep) * pixel;
  };
  std::int64_t p = 0;
  for (; p + side <= count; p += side)
#pragma GCC unroll 4
    for (int sum = 0; sum < side; ++sum) addPixel(sum, p + sum);
  for (; p < count; ++p) addPixel(0, p);
#pragma GCC unroll 3
  for (int row = 0; row < Rows; ++row)
#pragma GCC unroll 4
    for (int sum = 0; sum < side; ++sum)
#pragma GCC unroll 7
      for (int tap = 0; tap < Taps; ++tap)
        addTo<Block>(sums + ((firstRow + row) * r.taps + firstTap + tap) * Block, products[row][sum][tap]);
}

template <int Block>
TILEFOLD_INLINE void addBlock(const DepthwiseRows& r, float* sums) {
  const InnerPixels inner = innerPixels(0, r.pixels, r.stride, r.shift, (r.taps - 1) * r.dilation, r.width);
  const std::int64_t begin = inner.begin, end = inner.end;
  addEdge<Block>(r, 0, begin, sums);
  if (begin < end && r.rows == maxDepthwiseRows && r.taps == 3) {
    addTaps<Block, maxDepthwiseRows, 3>(r, 0, 0, begin, end, sums);
  } else if (begin < end) {
    for (std::int64_t row = 0; row < r.rows; ++row)
      for (std::int64_t tap = 0; tap < r.taps; tap += maxTaps)
        withConstant<1, maxTaps>(std::min(maxTaps, r.taps - tap),
                                 [&](auto taps) TILEFOLD_INLINED { addTaps<Block, 1, decltype(taps)::value>(r, row, tap, begin, end, sums); });
  }
  addEdge<Block>(r, end, r.pixels, sums);
}

}  // namespace

void addDepthwise(const DepthwiseRows& rows, std::int64_t block, float* sums) {
  forProcessor([=, &rows]() TILEFOLD_INLINED {
    if (block == 16)
      addBlock<16>(rows, sums);
    else
      addBlock<8>(rows, sums);
  });
}

}  // namespace tilefold::cpu
