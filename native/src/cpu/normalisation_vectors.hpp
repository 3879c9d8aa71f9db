// Vectors of a pixel's channels for the loops of normalisation: they are loaded and stored, have
// coefficients of their own, and are summed.
#pragma once
#include "lanes.hpp"
#include "normalisation_loops.hpp"

namespace tilefold::cpu::normalisation {

// Eight floats make eight doubles in one register of AVX-512.
constexpr std::int64_t width = 8;
using Floats = Lanes<width>::Floats;
typedef double Doubles __attribute__((vector_size(width * sizeof(double))));

template <bool Whole, class T>
TILEFOLD_INLINE Floats load(const T* address, std::int64_t lanes) {
  if constexpr (Whole) return Lanes<width>::at(address);
  T part[width] = {};
  std::memcpy(part, address, static_cast<std::size_t>(lanes) * sizeof(T));
  return Lanes<width>::at(part);
}

template <bool Whole, class T>
TILEFOLD_INLINE void store(T* address, const Floats& value, std::int64_t lanes) {
  if constexpr (Whole) return Lanes<width>::put(address, value);
  T part[width];
  Lanes<width>::put(part, value);
  std::memcpy(address, part, static_cast<std::size_t>(lanes) * sizeof(T));
}

TILEFOLD_INLINE Doubles widened(const Floats& value) { return __builtin_convertvector(value, Doubles); }

using Bits = Lanes<width>::Bits;
using Integers = Lanes<width>::Integers;

// The lanes of a pixel in vectors: one after another, but of two vectors of bf16 the even lanes in
// the first and the odd ones in the second, so that each is half of a word and nothing is shuffled.
template <int Vectors, class T>
constexpr bool inWords = Vectors == 2 && std::is_same_v<T, Bfloat16>;

template <int Vectors, class T>
constexpr std::int64_t laneOf(std::int64_t vector, std::int64_t i) {
  return inWords<Vectors, T> ? 2 * i + vector : vector * width + i;
}

template <int Vectors>
struct Pixel {
  Floats values[Vectors];
};

template <int Vectors, bool Whole, class T>
TILEFOLD_INLINE Pixel<Vectors> loadPixel(const T* address, std::int64_t lanes) {
  Pixel<Vectors> pixel;
  if constexpr (inWords<Vectors, T>) {
    Bits words;
    std::memcpy(&words, address, sizeof(words));
    pixel.values[0] = reinterpret_cast<Floats>(words << 16);
    pixel.values[1] = reinterpret_cast<Floats>(words & 0xFFFF0000U);
  } else {
    for (int v = 0; v < Vectors; ++v) pixel.values[v] = load<Whole>(address + v * width, lanes);
  }
  return pixel;
}

template <int Vectors, bool Whole, class T>
TILEFOLD_INLINE void storePixel(T* address, const Pixel<Vectors>& pixel, std::int64_t lanes) {
  if constexpr (inWords<Vectors, T>) {
    Lanes<width>::putWords(address, pixel.values[0], pixel.values[1]);
  } else {
    for (int v = 0; v < Vectors; ++v) store<Whole>(address + v * width, pixel.values[v], lanes);
  }
}

// One coefficient of each lane.
template <int Vectors, class T>
struct Coefficients {
  TILEFOLD_INLINE explicit Coefficients(const float* lanes) {
    for (int v = 0; v < Vectors; ++v) {
      float own[width];
      for (std::int64_t i = 0; i < width; ++i) own[i] = lanes[laneOf<Vectors, T>(v, i)];
      values[v] = Lanes<width>::at(own);
    }
  }
  Floats values[Vectors];
};

// Of floats in double; of bf16, which has fewer digits, a run of pixels in float and the runs in
// double.
template <int Vectors, class T>
struct Sums {
  static constexpr std::int64_t run = std::is_same_v<T, Bfloat16> ? 16 : 1;
  using Sum = std::conditional_t<std::is_same_v<T, Bfloat16>, Floats, Doubles>;

  TILEFOLD_INLINE static Sum converted(const Floats& value) {
    if constexpr (std::is_same_v<T, Bfloat16>)
      return value;
    else
      return widened(value);
  }
  // add(p, first, second) over the pixels of a strip.
  template <class Add>
  TILEFOLD_INLINE void over(std::int64_t count, const Add& add) {
    if constexpr (run == 1) {
      for (std::int64_t p = 0; p < count; ++p) add(p, first, second);
    } else {
      for (std::int64_t begin = 0; begin < count; begin += run) {
        Sum ownFirst[Vectors] = {}, ownSecond[Vectors] = {};
        const std::int64_t end = begin + run < count ? begin + run : count;
        for (std::int64_t p = begin; p < end; ++p) add(p, ownFirst, ownSecond);
        for (int v = 0; v < Vectors; ++v) {
          first[v] += widened(ownFirst[v]);
          second[v] += widened(ownSecond[v]);
        }
      }
    }
  }
  TILEFOLD_INLINE void addTo(LaneSums& sums, std::int64_t lane) const {
    for (std::int64_t v = 0; v < Vectors; ++v)
      for (std::int64_t i = 0; i < width; ++i) {
        sums.first[lane + laneOf<Vectors, T>(v, i)] += first[v][i];
        sums.second[lane + laneOf<Vectors, T>(v, i)] += second[v][i];
      }
  }
  Doubles first[Vectors] = {}, second[Vectors] = {};
};

}  // namespace tilefold::cpu::normalisation
