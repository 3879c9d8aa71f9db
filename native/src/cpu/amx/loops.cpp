#include "loops.hpp"

#include <algorithm>
#include <cstring>

#include "../../kernels/layout.hpp"
#include "../../kernels/rectifier.hpp"
#include "amx.hpp"
#if defined(TILEFOLD_AMX) && !defined(TILEFOLD_EMULATED_AMX)
#include "../vectors/pair_instructions.hpp"
#ifndef __clang__
// GCC 12 and before warn of their own intrinsics, of vectors whose start does not matter.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#endif

namespace tilefold::cpu {
namespace {

void packPixel(const Bfloat16* first, std::int64_t planeStride, std::int64_t channels, std::int64_t perPixel, Bfloat16* pixel) {
  for (std::int64_t c = 0; c < perPixel; ++c) pixel[c] = c < channels ? first[c * planeStride] : Bfloat16(0);
}

}  // namespace

std::vector<float> wholeBlocks(const float* bias, std::int64_t channels) {
  if (bias == nullptr) return {};
  std::vector<float> whole(bias, bias + channels);
  whole.resize(static_cast<std::size_t>(roundUp(channels, amxLanes)));
  return whole;
}

#if defined(TILEFOLD_AMX) && !defined(TILEFOLD_EMULATED_AMX)
namespace {

TILEFOLD_PAIRS inline __m256i blockAt(const Bfloat16* address) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(address)); }

// Two neighbouring pixels of a block as words [lane] of two.
TILEFOLD_PAIRS inline __m512i pairAt(const Bfloat16* address) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3,
                                         18, 2, 17, 1, 16, 0);
  return _mm512_permutexvar_epi16(order, _mm512_loadu_si512(address));
}

// Two pixels of a block so.
TILEFOLD_PAIRS inline __m512i pairOf(__m256i low, __m256i high) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(low), _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 16));
}

// 16 rows of 16 words, columns as rows.
TILEFOLD_PAIRS inline void transpose(__m512i (&rows)[16]) {
  __m512i by2[16], by4[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    by2[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    by2[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    by4[i] = _mm512_unpacklo_epi64(by2[i], by2[i + 2]);
    by4[i + 1] = _mm512_unpackhi_epi64(by2[i], by2[i + 2]);
    by4[i + 2] = _mm512_unpacklo_epi64(by2[i + 1], by2[i + 3]);
    by4[i + 3] = _mm512_unpackhi_epi64(by2[i + 1], by2[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i low0 = _mm512_shuffle_i32x4(by4[i], by4[i + 4], 0x88), low1 = _mm512_shuffle_i32x4(by4[i + 8], by4[i + 12], 0x88);
    const __m512i high0 = _mm512_shuffle_i32x4(by4[i], by4[i + 4], 0xdd), high1 = _mm512_shuffle_i32x4(by4[i + 8], by4[i + 12], 0xdd);
    rows[i] = _mm512_shuffle_i32x4(low0, low1, 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(low0, low1, 0xdd);
    rows[i + 4] = _mm512_shuffle_i32x4(high0, high1, 0x88);
    rows[i + 12] = _mm512_shuffle_i32x4(high0, high1, 0xdd);
  }
}

template <class PairAt>
TILEFOLD_PAIRS inline void packTransposed(const PairAt& at, Bfloat16* to, std::int64_t rowStride) {
  __m512i rows[16];
#pragma GCC unroll 16
  for (int pair = 0; pair < 16; ++pair) rows[pair] = at(pair);
  transpose(rows);
#pragma GCC unroll 16
  for (int lane = 0; lane < 16; ++lane) _mm512_storeu_si512(to + lane * rowStride, rows[lane]);
}

}  // namespace

TILEFOLD_PAIRS void packBlocks(const Bfloat16* first, const Bfloat16* second, std::int64_t count, Bfloat16* rows) {
  for (std::int64_t p = 0; p < count; ++p, rows += amxRow) {
    const __m512i low = first == nullptr ? _mm512_setzero_si512() : _mm512_castsi256_si512(blockAt(first + p * amxLanes));
    const __m256i high = second == nullptr ? _mm256_setzero_si256() : blockAt(second + p * amxLanes);
    _mm512_storeu_si512(rows, _mm512_inserti64x4(low, high, 1));
  }
}

TILEFOLD_PAIRS void packPlanes(const Bfloat16* first, std::int64_t planeStride, std::int64_t channels, std::int64_t perPixel,
                               std::int64_t count, Bfloat16* pixels) {
  std::int64_t p = 0;
  if (perPixel == 4) {
    const __m512i low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
    for (; p + 16 <= count; p += 16) {
      const auto planeAt = [&](std::int64_t c)
                               TILEFOLD_PAIRS { return c < channels ? blockAt(first + c * planeStride + p) : _mm256_setzero_si256(); };
      const __m512i front = pairOf(planeAt(0), planeAt(1)), back = pairOf(planeAt(2), planeAt(3));
      _mm512_storeu_si512(pixels + p * 4, _mm512_permutex2var_epi32(front, low, back));
      _mm512_storeu_si512(pixels + p * 4 + amxRow, _mm512_permutex2var_epi32(front, high, back));
    }
  }
  for (; p < count; ++p) packPixel(first + p, planeStride, channels, perPixel, pixels + p * perPixel);
}

TILEFOLD_PAIRS void packPairsOfPixels(const Bfloat16* first, std::int64_t count, std::int64_t padded, Bfloat16* rows) {
  std::int64_t p = 0;
  for (; p + 2 <= count; p += 2) _mm512_storeu_si512(rows + p * amxLanes, pairAt(first + p * amxLanes));
  for (; p < padded; p += 2)
    _mm512_storeu_si512(rows + p * amxLanes,
                        p < count ? pairOf(blockAt(first + p * amxLanes), _mm256_setzero_si256()) : _mm512_setzero_si512());
}

TILEFOLD_PAIRS void packPixels(const Bfloat16* first, std::int64_t step, std::int64_t begin, std::int64_t end, std::int64_t count,
                               Bfloat16* rows, std::int64_t rowStride) {
  for (std::int64_t p = 0; p < count; p += amxRow, rows += amxRow) {
    const auto pixelAt = [&](std::int64_t i)
                             TILEFOLD_PAIRS { return i >= begin && i < end ? blockAt(first + i * step) : _mm256_setzero_si256(); };
    if (step == amxLanes && p >= begin && p + amxRow <= end)
      packTransposed([&](int pair) TILEFOLD_PAIRS { return pairAt(first + (p + 2 * pair) * amxLanes); }, rows, rowStride);
    else
      packTransposed([&](int pair) TILEFOLD_PAIRS { return pairOf(pixelAt(p + 2 * pair), pixelAt(p + 2 * pair + 1)); }, rows, rowStride);
  }
}

TILEFOLD_PAIRS void roundSums(const float* sums, const float* bias, float slope, std::int64_t count, Bfloat16* pixels, std::int64_t step) {
  const __m512 added = bias == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(bias), factor = _mm512_set1_ps(slope);
  for (std::int64_t p = 0; p < count; ++p) {
    __m512 sum = _mm512_add_ps(_mm512_loadu_ps(sums + p * amxLanes), added);
    if (slope != 1) {
      const __m512 rectified = slope == 0 ? _mm512_setzero_ps() : _mm512_mul_ps(sum, factor);
      sum = _mm512_mask_mov_ps(sum, _mm512_cmp_ps_mask(sum, _mm512_setzero_ps(), _CMP_LE_OQ), rectified);
    }
    const __m256bh rounded = _mm512_cvtneps_pbh(sum);
    std::memcpy(static_cast<void*>(pixels + p * step), &rounded, sizeof(rounded));
  }
}

#else

void packPlanes(const Bfloat16* first, std::int64_t planeStride, std::int64_t channels, std::int64_t perPixel, std::int64_t count,
                Bfloat16* pixels) {
  for (std::int64_t p = 0; p < count; ++p) packPixel(first + p, planeStride, channels, perPixel, pixels + p * perPixel);
}

void packBlocks(const Bfloat16* first, const Bfloat16* second, std::int64_t count, Bfloat16* rows) {
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t lane = 0; lane < amxLanes; ++lane) {
      rows[p * amxRow + lane] = first == nullptr ? Bfloat16(0) : first[p * amxLanes + lane];
      rows[p * amxRow + amxLanes + lane] = second == nullptr ? Bfloat16(0) : second[p * amxLanes + lane];
    }
}

void packPairsOfPixels(const Bfloat16* first, std::int64_t count, std::int64_t padded, Bfloat16* rows) {
  for (std::int64_t p = 0; p < padded; ++p)
    for (std::int64_t lane = 0; lane < amxLanes; ++lane)
      rows[p / 2 * amxRow + 2 * lane + p % 2] = p < count ? first[p * amxLanes + lane] : Bfloat16(0);
}

void packPixels(const Bfloat16* first, std::int64_t step, std::int64_t begin, std::int64_t end, std::int64_t count, Bfloat16* rows,
                std::int64_t rowStride) {
  for (std::int64_t lane = 0; lane < amxLanes; ++lane)
    for (std::int64_t p = 0; p < count; ++p) rows[lane * rowStride + p] = p >= begin && p < end ? first[p * step + lane] : Bfloat16(0);
}

void roundSums(const float* sums, const float* bias, float slope, std::int64_t count, Bfloat16* pixels, std::int64_t step) {
  for (std::int64_t p = 0; p < count; ++p)
    for (std::int64_t lane = 0; lane < amxLanes; ++lane) {
      const float sum = sums[p * amxLanes + lane] + (bias == nullptr ? 0 : bias[lane]);
      pixels[p * step + lane] = slope == 1 ? sum : rectified(sum, slope);
    }
}

#endif

}  // namespace tilefold::cpu
