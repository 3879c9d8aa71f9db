#include "depthwise_loops.hpp"

#include <algorithm>

#include "constants.hpp"
#include "lanes.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t maxTaps = 7;  // side by side, that registers hold

// sum[lane] += the sum over pixels of their products.
template <int Block>
TILEFOLD_INLINE void addTo(float* sum, const typename Lanes<Block>::Floats& products) {
  Lanes<Block>::put(sum, Lanes<Block>::at(sum) + products);
}

// Pixels of which not every tap reads a place that there is.
template <int Block>
TILEFOLD_INLINE void addEdge(const DepthwiseRow& row, std::int64_t begin, std::int64_t end, float* sums) {
  using Vector = Lanes<Block>;
  for (std::int64_t p = begin; p < end; ++p)
    for (std::int64_t tap = 0; tap < row.taps; ++tap) {
      const std::int64_t place = p * row.stride + tap * row.dilation + row.shift;
      if (place < 0 || place >= row.width) continue;
      addTo<Block>(sums + tap * Block, Vector::at(row.source + place * Block) * Vector::at(row.gradient + p * Block));
    }
}

// Sums of one tap, of neighbouring pixels: each waits for its last product.
template <int Taps>
constexpr int sumsOfTap = Taps == 1 ? 4 : Taps < 4 ? 2 : 1;

// Pixels of which `Taps` taps all read a place: the sums stay in registers.
template <int Block, int Taps>
TILEFOLD_INLINE void addTaps(const float* source, std::int64_t sourceStep, std::int64_t tapStep, const float* gradient, std::int64_t count,
                             float* sums) {
  using Vector = Lanes<Block>;
  constexpr int side = sumsOfTap<Taps>;
  typename Vector::Floats products[side][Taps] = {};
  const auto addPixel = [&](int sum, std::int64_t p) TILEFOLD_INLINED {
    const typename Vector::Floats pixel = Vector::at(gradient + p * Block);
#pragma GCC unroll 7
    for (int tap = 0; tap < Taps; ++tap) products[sum][tap] += Vector::at(source + p * sourceStep + tap * tapStep) * pixel;
  };
  std::int64_t p = 0;
  for (; p + side <= count; p += side)
#pragma GCC unroll 4
    for (int sum = 0; sum < side; ++sum) addPixel(sum, p + sum);
  for (; p < count; ++p) addPixel(0, p);
#pragma GCC unroll 4
  for (int sum = 0; sum < side; ++sum)
#pragma GCC unroll 7
    for (int tap = 0; tap < Taps; ++tap) addTo<Block>(sums + tap * Block, products[sum][tap]);
}

template <int Block>
TILEFOLD_INLINE void addBlock(const DepthwiseRow& row, float* sums) {
  const std::int64_t before = std::max<std::int64_t>(0, (row.stride - 1 - row.shift) / row.stride);
  const std::int64_t after = row.width - 1 - (row.taps - 1) * row.dilation - row.shift;
  const std::int64_t begin = std::min(before, row.pixels), end = std::clamp(after < 0 ? 0 : after / row.stride + 1, begin, row.pixels);
  addEdge<Block>(row, 0, begin, sums);
  const float* source = row.source + (begin * row.stride + row.shift) * Block;
  for (std::int64_t tap = 0; begin < end && tap < row.taps; tap += maxTaps)
    withConstant<1, maxTaps>(std::min(maxTaps, row.taps - tap), [&](auto taps) TILEFOLD_INLINED {
      addTaps<Block, decltype(taps)::value>(source + tap * row.dilation * Block, row.stride * Block, row.dilation * Block,
                                            row.gradient + begin * Block, end - begin, sums + tap * Block);
    });
  addEdge<Block>(row, end, row.pixels, sums);
}

}  // namespace

void addDepthwise(const DepthwiseRow& row, std::int64_t block, float* sums) {
  forProcessor([=, &row]() TILEFOLD_INLINED {
    if (block == 16)
      addBlock<16>(row, sums);
    else
      addBlock<8>(row, sums);
  });
}

}  // namespace tilefold::cpu
