#include "strip_loops.hpp"

#include "processor.hpp"

namespace tilefold::cpu {
namespace {

typedef float Vector __attribute__((vector_size(stripLanes * sizeof(float)), aligned(4), may_alias));

TILEFOLD_INLINE Vector& at(float* address) { return *reinterpret_cast<Vector*>(address); }
// As in winograd_products.cpp: a load a product would take longer than the products.
TILEFOLD_INLINE void loadOnce(const float* address, Vector& value) { value = *reinterpret_cast<const volatile Vector*>(address); }

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
        for (int b = 0; b < Blocks; ++b) loadOnce(matrix + b * s.resultMatrixStride + lane * stripLanes, row[b]);
#pragma GCC unroll 6
        for (int p = 0; p < Pixels; ++p)
          for (int b = 0; b < Blocks; ++b) sums[p][b] += pixels[p][lane] * row[b];
      }
    }
  for (int p = 0; p < Pixels; ++p)
    for (int b = 0; b < Blocks; ++b) at(s.sums + b * s.sumBlockStride + (first + p) * stripLanes) = sums[p][b];
}

template <int Blocks>
TILEFOLD_INLINE void addStripsBy(const Strips<float>& s) {
  forStrips(s.pixels, [&](std::int64_t first, std::int64_t pixels) TILEFOLD_INLINED {
    switch (pixels) {
      case 1:
        return addStrip<Blocks, 1>(s, first);
      case 2:
        return addStrip<Blocks, 2>(s, first);
      case 3:
        return addStrip<Blocks, 3>(s, first);
      case 4:
        return addStrip<Blocks, 4>(s, first);
      case 5:
        return addStrip<Blocks, 5>(s, first);
      default:
        return addStrip<Blocks, 6>(s, first);
    }
  });
}

}  // namespace

void addStrips(const Strips<float>& strips) {
  forProcessor([=, &strips]() TILEFOLD_INLINED {
    switch (strips.sumBlocks) {
      case 1:
        return addStripsBy<1>(strips);
      case 2:
        return addStripsBy<2>(strips);
      case 3:
        return addStripsBy<3>(strips);
      default:
        return addStripsBy<4>(strips);
    }
  });
}

}  // namespace tilefold::cpu
