#include "strip_loops.hpp"

#include "../vectors/load_once.hpp"

namespace tilefold::cpu {
namespace {

typedef float Vector __attribute__((vector_size(stripLanes * sizeof(float)), aligned(4), may_alias));

TILEFOLD_INLINE Vector& at(float* address) { return *reinterpret_cast<Vector*>(address); }

template <int Blocks, int Pixels>
TILEFOLD_INLINE void addStrip(const Strips<float>& s, std::int64_t first) {
  Vector sums[Pixels][Blocks];
  for (int p = 0; p < Pixels; ++p)
    for (int b = 0; b < Blocks; ++b) sums[p][b] = at(s.sums + b * s.sumBlockStride + (first + p) * stripLanes);
  for (std::int64_t block = 0; block < s.operandBlocks; ++block)
    for (std::int64_t tap = 0; tap < s.taps; ++tap) {
      const float* operand = s.operand + block * s.operandBlockStride + s.operandOffsets[tap] + first * s.pixelStride;
      const float* matrix = s.weights + block * s.operandMatrixStride + s.matrixOffsets[tap];
      const float* pixels[Pixels];
      for (int p = 0; p < Pixels; ++p) pixels[p] = operand + p * s.pixelStride;
      for (int lane = 0; lane < stripLanes; ++lane) {
        Vector row[Blocks];
        for (int b = 0; b < Blocks; ++b) row[b] = loadOnce<stripLanes>(matrix + b * s.resultMatrixStride + lane * stripLanes);
#pragma GCC unroll 6
        for (int p = 0; p < Pixels; ++p)
          for (int b = 0; b < Blocks; ++b) sums[p][b] += pixels[p][lane] * row[b];
      }
    }
  for (int p = 0; p < Pixels; ++p)
    for (int b = 0; b < Blocks; ++b) at(s.sums + b * s.sumBlockStride + (first + p) * stripLanes) = sums[p][b];
}

}  // namespace

void addStrips(const Strips<float>& strips) {
  forProcessor([=, &strips]() TILEFOLD_INLINED {
    forStrips(strips, [&](auto blocks, auto pixels, std::int64_t first) TILEFOLD_INLINED {
      addStrip<decltype(blocks)::value, decltype(pixels)::value>(strips, first);
    });
  });
}

}  // namespace tilefold::cpu
