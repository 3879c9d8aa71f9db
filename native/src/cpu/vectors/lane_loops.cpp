#include "lane_loops.hpp"

#include <cstring>

#include "pixel_vectors.hpp"

namespace tilefold::cpu {
namespace {

// A run of pixels is summed in float and the runs in double: fast, and exact enough for millions of
// pixels.
template <int Block, class T>
TILEFOLD_INLINE void addPixelsBlock(const T* pixels, double* lanes, std::int64_t count) {
  using P = Pixel<Block, T>;
  constexpr std::int64_t run = 32;
  for (std::int64_t begin = 0; begin < count; begin += run) {
    const std::int64_t end = begin + run < count ? begin + run : count;
    // Two, since an addition waits for the one before it.
    P even = {}, odd = {};
    std::int64_t p = begin;
    for (; p + 2 <= end; p += 2) {
      const P first = P::at(pixels + p * Block), second = P::at(pixels + (p + 1) * Block);
      for (int v = 0; v < P::vectors; ++v) even.values[v] += first.values[v];
      for (int v = 0; v < P::vectors; ++v) odd.values[v] += second.values[v];
    }
    if (p < end) {
      const P last = P::at(pixels + p * Block);
      for (int v = 0; v < P::vectors; ++v) even.values[v] += last.values[v];
    }
    for (int v = 0; v < P::vectors; ++v) even.values[v] += odd.values[v];
    for (int lane = 0; lane < Block; ++lane) lanes[lane] += static_cast<double>(even.values[lane % P::vectors][lane / P::vectors]);
  }
}

template <int Block, bool Sum, class T>
TILEFOLD_INLINE void copyPixels(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t count) {
  for (std::int64_t p = 0; p < count; ++p) {
    T* pixel = to.first + p * to.step;
    if constexpr (Sum)
      Lanes<Block>::put(pixel, Lanes<Block>::at(pixel) + Lanes<Block>::at(from.first + p * from.step));
    else
      std::memcpy(static_cast<void*>(pixel), from.first + p * from.step, Block * sizeof(T));
  }
}

template <bool Sum, class T>
TILEFOLD_INLINE void copyLanesAs(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t lanes, std::int64_t count) {
  if (lanes == from.step && lanes == to.step) {
    if constexpr (Sum) {
#pragma omp simd
      for (std::int64_t i = 0; i < lanes * count; ++i) to.first[i] += from.first[i];
    } else {
      std::memcpy(static_cast<void*>(to.first), from.first, static_cast<std::size_t>(lanes * count) * sizeof(T));
    }
    return;
  }
  std::int64_t lane = 0;
  for (; lane + 16 <= lanes; lane += 16) copyPixels<16, Sum, T>({from.first + lane, from.step}, {to.first + lane, to.step}, count);
  for (; lane + 8 <= lanes; lane += 8) copyPixels<8, Sum, T>({from.first + lane, from.step}, {to.first + lane, to.step}, count);
  for (; lane < lanes; ++lane)
    for (std::int64_t p = 0; p < count; ++p) {
      T& element = to.first[p * to.step + lane];
      element = Sum ? static_cast<T>(element + from.first[p * from.step + lane]) : from.first[p * from.step + lane];
    }
}

}  // namespace

template <class T>
void copyLanes(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t lanes, std::int64_t count, bool sum) {
  forProcessor([=, &from, &to]() TILEFOLD_INLINED {
    if (sum)
      copyLanesAs<true>(from, to, lanes, count);
    else
      copyLanesAs<false>(from, to, lanes, count);
  });
}

void fillPixels(const float* lanes, float* pixels, std::int64_t count, std::int64_t block) {
  forProcessor([=]() TILEFOLD_INLINED {
    for (std::int64_t p = 0; p < count; ++p)
      if (block == 16)
        Lanes<16>::put(pixels + p * 16, Lanes<16>::at(lanes));
      else
        Lanes<8>::put(pixels + p * 8, Lanes<8>::at(lanes));
  });
}

template <class T>
void addPixels(const T* pixels, double* lanes, std::int64_t count, std::int64_t block) {
  forProcessor([=]() TILEFOLD_INLINED {
    if (block == 16)
      addPixelsBlock<16>(pixels, lanes, count);
    else
      addPixelsBlock<8>(pixels, lanes, count);
  });
}

#define TILEFOLD_INSTANTIATE(T) \
  template void copyLanes(const PixelsFrom<T>&, const PixelsTo<T>&, std::int64_t, std::int64_t, bool); \
  template void addPixels(const T*, double*, std::int64_t, std::int64_t);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
