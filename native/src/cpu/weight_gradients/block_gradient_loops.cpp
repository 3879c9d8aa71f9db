#include "block_gradient_loops.hpp"

#include "../vectors/constants.hpp"
#include "../vectors/load_once.hpp"

namespace tilefold::cpu {
namespace {

using Block = Lanes<gradientLanes>;

// Sixteen sums at least, or each would wait for its last product.
template <int Blocks>
constexpr int channelsAtOnce = Blocks == 1 ? 16 : Blocks == 4 ? 4 : 8;

template <int Blocks>
TILEFOLD_INLINE void addProducts(const BlockRows& r) {
  constexpr int channels = channelsAtOnce<Blocks>;
  for (int first = 0; first < gradientLanes; first += channels) {
    Block::Floats sums[channels][Blocks] = {};
    for (std::int64_t row = 0; row < r.rows; ++row) {
      const float *source = r.source + row * r.sourceRowStep + first, *gradient = r.gradient + row * r.gradientRowStep;
      for (std::int64_t pixel = 0; pixel < r.pixels; ++pixel, source += r.sourcePixelStep, gradient += gradientLanes) {
        Block::Floats of[Blocks];
        for (int b = 0; b < Blocks; ++b) of[b] = loadOnce<gradientLanes>(gradient + b * r.gradientBlockStep);
#pragma GCC unroll 16
        for (int channel = 0; channel < channels; ++channel)
          for (int b = 0; b < Blocks; ++b) sums[channel][b] += source[channel] * of[b];
      }
    }
    for (int channel = 0; channel < channels; ++channel)
      for (int b = 0; b < Blocks; ++b)
        addLanes<gradientLanes>(sums[channel][b], r.totals + b * r.totalsBlockStep + (first + channel) * gradientLanes);
  }
}

}  // namespace

void addBlockProducts(const BlockRows& rows) {
  forProcessorWithAvx512(
      [](auto rows) TILEFOLD_INLINED {
        withConstant<1, maxGradientBlocks>(rows->blocks,
                                           [=](auto blocks) TILEFOLD_INLINED { addProducts<decltype(blocks)::value>(*rows); });
      },
      &rows);
}

}  // namespace tilefold::cpu
