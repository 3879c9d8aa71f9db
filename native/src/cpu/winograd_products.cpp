#include "constants.hpp"
#include "winograd_loops.hpp"
#include "winograd_vectors.hpp"

namespace tilefold::cpu::winograd {
namespace {

// GCC would fold a load into each product that uses it, and the loads then take longer than the
// products.
TILEFOLD_INLINE void loadOnce(const float* address, Vector& value) { value = *reinterpret_cast<const volatile Unaligned*>(address); }

template <int Vectors>
TILEFOLD_INLINE void multiplyBy(const Product& product) {
  const float* operand = product.operand;
  float* result = product.result;
  for (std::int64_t group = 0; group < product.groups; ++group, result += groupTiles * Vectors * lanes) {
    Vector sums[groupTiles][Vectors] = {};
    const float* weights = product.weights;
    for (std::int64_t block = 0; block < product.blocks; ++block, operand += groupFloats)
      for (int channel = 0; channel < lanes; ++channel, weights += Vectors * lanes) {
        Vector row[Vectors];
        for (int v = 0; v < Vectors; ++v) loadOnce(weights + v * lanes, row[v]);
#pragma GCC unroll 6
        for (int tile = 0; tile < groupTiles; ++tile)
          for (int v = 0; v < Vectors; ++v) sums[tile][v] += operand[tile * lanes + channel] * row[v];
      }
    for (int tile = 0; tile < groupTiles; ++tile)
      for (int v = 0; v < Vectors; ++v) at(result + (tile * Vectors + v) * lanes) = sums[tile][v];
  }
}

template <int Vectors>
TILEFOLD_INLINE void accumulateBy(const GradientProduct& product) {
  constexpr int channels = 4;  // at once
  for (std::int64_t block = 0; block < product.blocks; ++block)
    for (int first = 0; first < lanes; first += channels) {
      Vector sums[channels][Vectors] = {};
      const float *operand = product.operand + block * groupFloats + first, *gradient = product.gradient;
      for (std::int64_t group = 0; group < product.groups; ++group, operand += product.blocks * groupFloats)
        for (int tile = 0; tile < groupTiles; ++tile, gradient += Vectors * lanes) {
          Vector row[Vectors];
          for (int v = 0; v < Vectors; ++v) loadOnce(gradient + v * lanes, row[v]);
#pragma GCC unroll 4
          for (int channel = 0; channel < channels; ++channel)
            for (int v = 0; v < Vectors; ++v) sums[channel][v] += operand[tile * lanes + channel] * row[v];
        }
      float* result = product.result + (block * lanes + first) * Vectors * lanes;
      for (int channel = 0; channel < channels; ++channel)
        for (int v = 0; v < Vectors; ++v) at(result + (channel * Vectors + v) * lanes) += sums[channel][v];
    }
}

}  // namespace

void multiply(const Product& product) {
  forProcessor(
      [](auto product) TILEFOLD_INLINED {
        withConstant<1, maxVectors>(product->vectors, [=](auto vectors) TILEFOLD_INLINED { multiplyBy<decltype(vectors)::value>(*product); });
      },
      &product);
}

void accumulate(const GradientProduct& product) {
  forProcessor(
      [](auto product) TILEFOLD_INLINED {
        withConstant<1, maxVectors>(product->vectors, [=](auto vectors) TILEFOLD_INLINED { accumulateBy<decltype(vectors)::value>(*product); });
      },
      &product);
}

}  // namespace tilefold::cpu::winograd
