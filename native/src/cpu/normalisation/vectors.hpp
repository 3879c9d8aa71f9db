// Vectors of a pixel's channels for the loops of normalisation: they are loaded and stored, have
// coefficients of their own, and are summed.
#pragma once
#include "../vectors/lanes.hpp"
#include "loops.hpp"

namespace tilefold::cpu::normalisation {

// What one turn of a loop takes: so many vectors of a pixel, and whether all their lanes are there.
template <int Width, int Vectors, bool Whole>
struct Row {
  static constexpr int width = Width, vectors = Vectors;
  static constexpr bool whole = Whole, inWords = false;
  static constexpr int laneOf(int vector, int i) { return vector * width + i; }
};

// Two pixels of 16 lanes of bf16: the even lanes of both in one vector and the odd ones in another,
// so that each is half of a word and nothing is shuffled.
struct PairOfPixels {
  static constexpr int width = 16, vectors = 2;
  static constexpr bool whole = true, inWords = true;
  static constexpr int laneOf(int vector, int i) { return (2 * i + vector) % static_cast<int>(laneCount); }
};

template <class R>
using FloatsOf = typename Lanes<R::width>::Floats;
template <class R>
using BitsOf = typename Lanes<R::width>::Bits;
template <class R>
using IntegersOf = typename Lanes<R::width>::Integers;

// What one turn takes, or one coefficient of each lane of it.
template <class R>
struct Taken {
  FloatsOf<R> values[R::vectors];
};

template <class R, class T>
TILEFOLD_INLINE Taken<R> load(const T* address, std::int64_t lanes) {
  Taken<R> taken;
  if constexpr (R::inWords) {
    BitsOf<R> words;
    std::memcpy(&words, address, sizeof(words));
    taken.values[0] = reinterpret_cast<FloatsOf<R>>(words << 16);
    taken.values[1] = reinterpret_cast<FloatsOf<R>>(words & 0xFFFF0000U);
  } else if constexpr (R::whole) {
    for (int v = 0; v < R::vectors; ++v) taken.values[v] = Lanes<R::width>::at(address + v * R::width);
  } else {
    T part[R::width] = {};
    std::memcpy(static_cast<void*>(part), address, static_cast<std::size_t>(lanes) * sizeof(T));
    taken.values[0] = Lanes<R::width>::at(part);
  }
  return taken;
}

template <class R, class T>
TILEFOLD_INLINE void store(T* address, const Taken<R>& taken, std::int64_t lanes) {
  if constexpr (R::inWords) {
    Lanes<R::width>::putWords(address, taken.values[0], taken.values[1]);
  } else if constexpr (R::whole) {
    for (int v = 0; v < R::vectors; ++v) Lanes<R::width>::put(address + v * R::width, taken.values[v]);
  } else {
    T part[R::width];
    Lanes<R::width>::put(part, taken.values[0]);
    std::memcpy(static_cast<void*>(address), part, static_cast<std::size_t>(lanes) * sizeof(T));
  }
}

template <class R>
TILEFOLD_INLINE Taken<R> coefficients(const float* lanes) {
  Taken<R> taken;
  for (int v = 0; v < R::vectors; ++v) {
    float own[R::width];
    for (int i = 0; i < R::width; ++i) own[i] = lanes[R::laneOf(v, i)];
    taken.values[v] = Lanes<R::width>::at(own);
  }
  return taken;
}

// So many doubles in one register: 8 of AVX-512, or 4 of AVX2, where vectors of 8 would go through
// memory at each turn.
template <int Width>
struct DoublesOf;
#define TILEFOLD_DOUBLES(Width)                                                                                             \
  template <>                                                                                                               \
  struct DoublesOf<Width> {                                                                                                 \
    typedef double Type __attribute__((vector_size(Width * sizeof(double))));                                               \
    TILEFOLD_INLINE static Type widened(const Lanes<Width>::Type& value) { return __builtin_convertvector(value, Type); } \
  };
TILEFOLD_DOUBLES(4)
TILEFOLD_DOUBLES(8)
#undef TILEFOLD_DOUBLES

// Two registers, since GCC widens half a register of floats in quarters.
template <>
struct DoublesOf<16> {
  using Half = DoublesOf<8>::Type;
  struct Type {
    TILEFOLD_INLINE Type operator-(const Type& other) const { return {low - other.low, high - other.high}; }
    TILEFOLD_INLINE Type operator*(const Type& other) const { return {low * other.low, high * other.high}; }
    TILEFOLD_INLINE void operator+=(const Type& other) {
      low += other.low;
      high += other.high;
    }
    TILEFOLD_INLINE double operator[](int i) const { return i < 8 ? low[i] : high[i - 8]; }
    Half low, high;
  };
  TILEFOLD_INLINE static Type widened(const Lanes<16>::Type& value) {
    typedef double Both __attribute__((vector_size(16 * sizeof(double))));
    const Both both = __builtin_convertvector(value, Both);
    Type result;
    std::memcpy(&result, &both, sizeof(result));
    return result;
  }
};

// Of floats in double; of bf16, which has fewer digits, a run of turns in float and the runs in
// double.
template <class R, class T>
struct Sums {
  static constexpr bool inRuns = std::is_same_v<T, Bfloat16>;
  static constexpr std::int64_t run = 16;
  static constexpr int doubleLanes = inRuns ? 8 : R::width, parts = R::width * R::vectors / doubleLanes;
  using Doubles = typename DoublesOf<doubleLanes>::Type;
  using Sum = std::conditional_t<inRuns, FloatsOf<R>, Doubles>;

  TILEFOLD_INLINE static Sum converted(const FloatsOf<R>& value) {
    if constexpr (inRuns)
      return value;
    else
      return DoublesOf<doubleLanes>::widened(value);
  }
  // add(turn, first, second) over the turns of a strip.
  template <class Add>
  TILEFOLD_INLINE void over(std::int64_t count, const Add& add) {
    if constexpr (!inRuns) {
      for (std::int64_t p = 0; p < count; ++p) add(p, first, second);
    } else {
      for (std::int64_t begin = 0; begin < count; begin += run) {
        Sum ownFirst[R::vectors] = {}, ownSecond[R::vectors] = {};
        const std::int64_t end = begin + run < count ? begin + run : count;
        for (std::int64_t p = begin; p < end; ++p) add(p, ownFirst, ownSecond);
        addRun(ownFirst, first);
        addRun(ownSecond, second);
      }
    }
  }
  TILEFOLD_INLINE void addTo(LaneSums& sums, std::int64_t lane) const {
    for (int part = 0; part < parts; ++part)
      for (int i = 0; i < doubleLanes; ++i) {
        const int place = part * doubleLanes + i;
        const std::int64_t to = lane + R::laneOf(place / R::width, place % R::width);
        sums.first[to] += first[part][i];
        sums.second[to] += second[part][i];
      }
  }
  TILEFOLD_INLINE static void addRun(const Sum (&own)[R::vectors], Doubles (&to)[parts]) {
    float lanes[R::width * R::vectors];
    for (int v = 0; v < R::vectors; ++v) Lanes<R::width>::put(lanes + v * R::width, own[v]);
    for (int part = 0; part < parts; ++part)
      to[part] += DoublesOf<doubleLanes>::widened(Lanes<doubleLanes>::at(lanes + part * doubleLanes));
  }
  Doubles first[parts] = {}, second[parts] = {};
};

}  // namespace tilefold::cpu::normalisation
