#include <algorithm>

#include "../vectors/constants.hpp"
#include "../vectors/load_once.hpp"
#include "loops.hpp"
#include "vectors.hpp"

namespace tilefold::cpu::winograd {
namespace {

// Channels whose products are summed by themselves: sums of more lose digits.
constexpr std::int64_t sumChannels = 256;

template <int Width, int Vectors>
TILEFOLD_INLINE void multiplyBy(const Product& product) {
  constexpr std::int64_t sumBlocks = sumChannels / Width;
  const float* operand = product.operand;
  float* result = product.result;
  for (std::int64_t group = 0; group < product.groups; ++group, result += groupTiles * Vectors * Width) {
    const float* weights = product.weights;
    for (std::int64_t first = 0; first < product.blocks; first += sumBlocks) {
      Vector<Width> sums[groupTiles][Vectors] = {};
      const std::int64_t end = std::min(first + sumBlocks, product.blocks);
      for (std::int64_t block = first; block < end; ++block, operand += groupFloats<Width>)
        for (int channel = 0; channel < Width; ++channel, weights += Vectors * Width) {
          Vector<Width> row[Vectors];
          for (int v = 0; v < Vectors; ++v) row[v] = loadOnce<Width>(weights + v * Width);
#pragma GCC unroll 6
          for (int tile = 0; tile < groupTiles; ++tile)
            for (int v = 0; v < Vectors; ++v) sums[tile][v] += operand[tile * Width + channel] * row[v];
        }
      const bool adds = product.adds || first > 0;
      for (int tile = 0; tile < groupTiles; ++tile)
        for (int v = 0; v < Vectors; ++v) {
          float* to = result + (tile * Vectors + v) * Width;
          put<Width>(to, adds ? at<Width>(to) + sums[tile][v] : sums[tile][v]);
        }
    }
  }
}

// Vectors of results that four channels are multiplied with at once.
template <int Width>
constexpr std::int64_t gradientVectors = Width == 16 ? 4 : 3;

template <int Width, int Vectors>
TILEFOLD_INLINE void accumulateBy(const GradientProduct& product, std::int64_t firstVector) {
  constexpr int channels = 4;  // at once
  const std::int64_t stride = product.vectors * Width;
  for (std::int64_t block = 0; block < product.blocks; ++block)
    for (int first = 0; first < Width; first += channels) {
      Vector<Width> sums[channels][Vectors] = {};
      const float *operand = product.operand + block * groupFloats<Width> + first, *gradient = product.gradient + firstVector * Width;
      for (std::int64_t group = 0; group < product.groups; ++group, operand += product.blocks * groupFloats<Width>)
        for (int tile = 0; tile < groupTiles; ++tile, gradient += stride) {
          Vector<Width> row[Vectors];
          for (int v = 0; v < Vectors; ++v) row[v] = loadOnce<Width>(gradient + v * Width);
#pragma GCC unroll 4
          for (int channel = 0; channel < channels; ++channel)
            for (int v = 0; v < Vectors; ++v) sums[channel][v] += operand[tile * Width + channel] * row[v];
        }
      float* result = product.result + (block * Width + first) * stride + firstVector * Width;
      for (int channel = 0; channel < channels; ++channel)
        for (int v = 0; v < Vectors; ++v) {
          float* to = result + channel * stride + v * Width;
          put<Width>(to, product.adds ? at<Width>(to) + sums[channel][v] : sums[channel][v]);
        }
    }
}

}  // namespace

template <int Width>
void multiply(const Product& product) {
  forWidth<Width>(
      [](auto product) TILEFOLD_INLINED {
        withConstant<1, maxVectors<Width>>(product->vectors,
                                           [=](auto vectors) TILEFOLD_INLINED { multiplyBy<Width, decltype(vectors)::value>(*product); });
      },
      &product);
}

template <int Width>
void accumulate(const GradientProduct& product) {
  forWidth<Width>(
      [](auto product) TILEFOLD_INLINED {
        constexpr std::int64_t most = gradientVectors<Width>;
        for (std::int64_t first = 0; first < product->vectors; first += most)
          withConstant<1, most>(std::min(most, product->vectors - first),
                                [=](auto vectors) TILEFOLD_INLINED { accumulateBy<Width, decltype(vectors)::value>(*product, first); });
      },
      &product);
}

template void multiply<8>(const Product&);
template void multiply<16>(const Product&);
template void accumulate<8>(const GradientProduct&);
template void accumulate<16>(const GradientProduct&);

}  // namespace tilefold::cpu::winograd
