#include "pair_loops.hpp"

#include <cstring>

#include "../vectors/constants.hpp"
#include "../vectors/lanes.hpp"
#include "../vectors/pair_instructions.hpp"

namespace tilefold::cpu {
namespace {

using Half = Halves<pairLanes>;

// Memory is asked for what is packed next: the processor itself looks no further than a page.
constexpr std::int64_t pixelsAhead = 256;

TILEFOLD_INLINE Half::Wide pixelAt(const Bfloat16* address) {
  Half::Type halves;
  std::memcpy(&halves, address, sizeof(halves));
  return Half::widened(halves);
}

#ifdef __x86_64__
constexpr int lanesAtOnce = 8;  // of the source, whose sums registers hold

template <int Blocks>
TILEFOLD_PAIRS void multiplyLanes(const PairRows& rows, std::int64_t firstLane) {
  __m512 sums[lanesAtOnce][Blocks];
#pragma GCC unroll 8
  for (int lane = 0; lane < lanesAtOnce; ++lane)
#pragma GCC unroll 3
    for (int block = 0; block < Blocks; ++block) sums[lane][block] = _mm512_setzero_ps();
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const Bfloat16* source = rows.source + row * rows.sourceRowStride + 2 * firstLane;
    const Bfloat16* gradient = rows.gradient + row * rows.gradientRowStride;
    for (std::int64_t pair = 0; pair < rows.pairs; ++pair, source += pairElements, gradient += pairElements) {
      __m512bh gradients[Blocks];
#pragma GCC unroll 3
      for (int block = 0; block < Blocks; ++block)
        gradients[block] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(gradient + block * rows.gradientBlockStride));
#pragma GCC unroll 8
      for (int lane = 0; lane < lanesAtOnce; ++lane) {
        std::int32_t both;
        std::memcpy(&both, source + 2 * lane, sizeof(both));
        const auto sources = reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
#pragma GCC unroll 3
        for (int block = 0; block < Blocks; ++block) sums[lane][block] = _mm512_dpbf16_ps(sums[lane][block], gradients[block], sources);
      }
    }
  }
#pragma GCC unroll 8
  for (int lane = 0; lane < lanesAtOnce; ++lane)
#pragma GCC unroll 3
    for (int block = 0; block < Blocks; ++block) {
      float* const sum = rows.matrices + block * rows.matrixBlockStride + (firstLane + lane) * pairLanes;
      const __m512 before = rows.adds ? _mm512_loadu_ps(sum) : _mm512_setzero_ps();
      _mm512_storeu_ps(sum, _mm512_add_ps(before, sums[lane][block]));
    }
}

template <int Blocks>
void multiplyBlocks(const PairRows& rows) {
  for (std::int64_t lane = 0; lane < pairLanes; lane += lanesAtOnce) multiplyLanes<Blocks>(rows, lane);
}
#endif

}  // namespace

#ifdef __x86_64__
void multiplyPairs(const PairRows& rows) {
  withConstant<1, maxPairBlocks>(rows.blocks, [&](auto blocks) { multiplyBlocks<decltype(blocks)::value>(rows); });
}
#else
void multiplyPairs(const PairRows&) {}
#endif

void packPairs(const PixelRow& row, Bfloat16* pairs) {
  forProcessor([=, &row]() TILEFOLD_INLINED {
    const auto pixel = [&](std::int64_t p) TILEFOLD_INLINED {
      return p >= row.begin && p < row.end ? pixelAt(row.first + p * row.step) : Half::Wide{};
    };
    for (std::int64_t p = 0; p < row.count; p += 2) {
      __builtin_prefetch(row.first + (p + pixelsAhead) * row.step);
      const Half::Wide words = pixel(p) | (p + 1 < row.count ? pixel(p + 1) : Half::Wide{}) << 16;
      std::memcpy(static_cast<void*>(pairs + p * pairLanes), &words, sizeof(words));
    }
  });
}

}  // namespace tilefold::cpu
