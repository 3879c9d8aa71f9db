#include <cstring>

#include "../vectors/pair_instructions.hpp"
#include "strip_loops.hpp"

namespace tilefold::cpu {

#ifdef __x86_64__
namespace {

constexpr std::int64_t pairsOfBlock = stripLanes / 2, pairElements = 2 * stripLanes;

template <int Blocks, int Pixels>
TILEFOLD_PAIRS void addStrip(const Strips<Bfloat16>& s, std::int64_t first) {
  __m512 sums[Pixels][Blocks];
#pragma GCC unroll 6
  for (int p = 0; p < Pixels; ++p)
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) sums[p][b] = _mm512_loadu_ps(s.sums + b * s.sumBlockStride + (first + p) * stripLanes);
  for (std::int64_t block = 0; block < s.operandBlocks; ++block)
    for (std::int64_t tap = 0; tap < s.taps; ++tap) {
      const Bfloat16* operand = s.operand + block * s.operandBlockStride + s.operandOffsets[tap] + first * s.pixelStride;
      const Bfloat16* matrix = s.weights + block * s.operandMatrixStride + s.matrixOffsets[tap];
      for (std::int64_t pair = 0; pair < pairsOfBlock; ++pair, operand += 2, matrix += pairElements) {
        __m512bh weights[Blocks];
#pragma GCC unroll 4
        for (int b = 0; b < Blocks; ++b) weights[b] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(matrix + b * s.resultMatrixStride));
#pragma GCC unroll 6
        for (int p = 0; p < Pixels; ++p) {
          std::int32_t both;
          std::memcpy(&both, operand + p * s.pixelStride, sizeof(both));
          const auto pixel = reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
#pragma GCC unroll 4
          for (int b = 0; b < Blocks; ++b) sums[p][b] = _mm512_dpbf16_ps(sums[p][b], weights[b], pixel);
        }
      }
    }
#pragma GCC unroll 6
  for (int p = 0; p < Pixels; ++p)
#pragma GCC unroll 4
    for (int b = 0; b < Blocks; ++b) _mm512_storeu_ps(s.sums + b * s.sumBlockStride + (first + p) * stripLanes, sums[p][b]);
}

}  // namespace

void addStrips(const Strips<Bfloat16>& strips) {
  forStrips(strips, [&](auto blocks, auto pixels, std::int64_t first) TILEFOLD_INLINED {
    addStrip<decltype(blocks)::value, decltype(pixels)::value>(strips, first);
  });
}
#else
void addStrips(const Strips<Bfloat16>&) {}
#endif

}  // namespace tilefold::cpu
