#include "loops.hpp"

#include "vectors.hpp"

namespace tilefold::cpu {
namespace {

using namespace normalisation;

// The turns that a loop takes: `count` of them, `step` elements apart, each from `lane` on.
struct Turns {
  std::int64_t first, count, step, lane, lanes;
  std::int64_t at(std::int64_t turn) const { return first + turn * step; }
};

// body.run<R>(turns) over a strip. Pairs are compared by 16 lanes, which AVX2 does one by one.
template <class T, class Body>
TILEFOLD_INLINE void forTurns(const Strip& strip, const Body& body) {
  constexpr int half = 8;
  std::int64_t first = 0, count = strip.count;
  if constexpr (std::is_same_v<T, Bfloat16>)
    if (strip.lanes == laneCount && strip.step == laneCount && machineBlock() == laneCount) {
      body.template run<PairOfPixels>(Turns{0, count / 2, 2 * laneCount, 0, laneCount});
      first = count / 2 * 2 * laneCount;
      count %= 2;
    }
  if (count == 0) return;
  if (strip.lanes == laneCount) return body.template run<Row<half, 2, true>>(Turns{first, count, strip.step, 0, laneCount});
  for (std::int64_t lane = 0; lane < strip.lanes; lane += half) {
    const std::int64_t lanes = strip.lanes - lane;
    const Turns turns{first + lane, count, strip.step, lane, lanes};
    if (lanes >= half)
      body.template run<Row<half, 1, true>>(turns);
    else
      body.template run<Row<half, 1, false>>(turns);
  }
}

// As forTurns, of bodies that add in double: by as many floats as fill a register, without AVX-512
// as many as do in double. Lanes in whole eights are 8 or 16.
template <class T, class Body>
TILEFOLD_INLINE void forSums(const Strip& strip, const Body& body) {
  if constexpr (!std::is_same_v<T, Bfloat16>) {
    const Turns turns{0, strip.count, strip.step, 0, strip.lanes};
    if (machineBlock() < laneCount && strip.lanes % 8 == 0)
      return strip.lanes == laneCount ? body.template run<Row<4, 4, true>>(turns) : body.template run<Row<4, 2, true>>(turns);
    if (strip.lanes == laneCount) return body.template run<Row<16, 1, true>>(turns);
  }
  forTurns<T>(strip, body);
}

// All bits where a float is above 0, which its bits are then as a signed number. (GCC 12 fails over
// comparisons of vectors here, whose masks differ between clones.)
template <class R>
TILEFOLD_INLINE IntegersOf<R> above(const FloatsOf<R>& y) {
  const auto bits = reinterpret_cast<BitsOf<R>>(y);
  return reinterpret_cast<IntegersOf<R>>(-bits & ~bits) >> 31;
}

// As ../kernels/rectifier.hpp; which of the two is chosen outside of the loops.
template <class R>
struct ToZero {
  using Floats = FloatsOf<R>;
  using Integers = IntegersOf<R>;
  TILEFOLD_INLINE explicit ToZero(float) {}
  // What is negative is dropped, but no NaN, which among the negative integers are the last.
  TILEFOLD_INLINE Floats operator()(const Floats& y) const {
    const auto bits = reinterpret_cast<BitsOf<R>>(y);
    const Integers drops = reinterpret_cast<Integers>((bits + 0x7FFFFFU) & bits) >> 31;
    return reinterpret_cast<Floats>(~drops & reinterpret_cast<Integers>(y));
  }
  // Where y is not a number, x - mean is none either, and makes none of the gradient.
  TILEFOLD_INLINE Floats operator()(const Floats& y, const Floats& dy) const {
    return reinterpret_cast<Floats>(above<R>(y) & reinterpret_cast<Integers>(dy));
  }
};

template <class R>
struct BySlope {
  using Floats = FloatsOf<R>;
  using Integers = IntegersOf<R>;
  TILEFOLD_INLINE explicit BySlope(float by) : slope(by) {}
  TILEFOLD_INLINE Floats operator()(const Floats& y) const { return (*this)(y, y); }
  TILEFOLD_INLINE Floats operator()(const Floats& y, const Floats& dy) const {
    const Integers passes = above<R>(y);
    const Floats scaled = slope * dy;
    return reinterpret_cast<Floats>((passes & reinterpret_cast<Integers>(dy)) | (~passes & reinterpret_cast<Integers>(scaled)));
  }
  float slope;
};

// As Normaliser of ../kernels/normalisation.hpp.
template <class R>
struct Normalisers {
  TILEFOLD_INLINE Normalisers(const LaneNormalisers& n, std::int64_t lane)
      : mean(coefficients<R>(n.mean + lane)), scale(coefficients<R>(n.scale + lane)), shift(coefficients<R>(n.shift + lane)) {}
  TILEFOLD_INLINE FloatsOf<R> fromMean(const Taken<R>& x, int v) const { return x.values[v] - mean.values[v]; }
  TILEFOLD_INLINE FloatsOf<R> normalised(const FloatsOf<R>& fromMean, int v) const { return fromMean * scale.values[v] + shift.values[v]; }
  Taken<R> mean, scale, shift;
};

template <class T>
struct AddDeviations {
  const T* source;
  const float* origin;
  LaneSums& sums;

  template <class R>
  TILEFOLD_INLINE void run(const Turns& turns) const {
    using Own = Sums<R, T>;
    Own own;
    const Taken<R> origins = coefficients<R>(origin + turns.lane);
    typename Own::Sum from[R::vectors];
    for (int v = 0; v < R::vectors; ++v) from[v] = Own::converted(origins.values[v]);
    own.over(turns.count, [&](std::int64_t turn, auto& first, auto& second) TILEFOLD_INLINED {
      const Taken<R> x = load<R>(source + turns.at(turn), turns.lanes);
      for (int v = 0; v < R::vectors; ++v) {
        const typename Own::Sum apart = Own::converted(x.values[v]) - from[v];
        first[v] += apart;
        second[v] += apart * apart;
      }
    });
    own.addTo(sums, turns.lane);
  }
};

template <template <class> class Rectify, class T>
struct NormaliseStrip {
  const LaneNormalisers& n;
  const T* source;
  T* destination;

  template <class R>
  TILEFOLD_INLINE void run(const Turns& turns) const {
    const Normalisers<R> of(n, turns.lane);
    const Rectify<R> rectified(n.slope);
    for (std::int64_t turn = 0; turn < turns.count; ++turn) {
      const std::int64_t at = turns.at(turn);
      Taken<R> pixel = load<R>(source + at, turns.lanes);
      for (int v = 0; v < R::vectors; ++v) pixel.values[v] = rectified(of.normalised(of.fromMean(pixel, v), v));
      store<R>(destination + at, pixel, turns.lanes);
    }
  }
};

template <template <class> class Rectify, class T>
struct AddGradients {
  const LaneNormalisers& n;
  const T *source, *gradient;
  LaneSums& sums;

  template <class R>
  TILEFOLD_INLINE void run(const Turns& turns) const {
    using Own = Sums<R, T>;
    const Normalisers<R> of(n, turns.lane);
    const Rectify<R> rectified(n.slope);
    Own own;
    own.over(turns.count, [&](std::int64_t turn, auto& first, auto& second) TILEFOLD_INLINED {
      const std::int64_t at = turns.at(turn);
      const Taken<R> x = load<R>(source + at, turns.lanes), dy = load<R>(gradient + at, turns.lanes);
      for (int v = 0; v < R::vectors; ++v) {
        const FloatsOf<R> fromMean = of.fromMean(x, v);
        const typename Own::Sum passed = Own::converted(rectified(of.normalised(fromMean, v), dy.values[v]));
        first[v] += passed;
        second[v] += passed * Own::converted(fromMean);
      }
    });
    own.addTo(sums, turns.lane);
  }
};

template <template <class> class Rectify, class T>
struct NormaliseGradient {
  const LaneNormalisers& n;
  const LaneGradients& g;
  const T *source, *gradient;
  T* sourceGradient;

  template <class R>
  TILEFOLD_INLINE void run(const Turns& turns) const {
    if (g.add)
      runAs<R, true>(turns);
    else
      runAs<R, false>(turns);
  }

  template <class R, bool Add>
  TILEFOLD_INLINE void runAs(const Turns& turns) const {
    const Normalisers<R> of(n, turns.lane);
    const Taken<R> ofGradient = coefficients<R>(g.gradient + turns.lane), ofSource = coefficients<R>(g.source + turns.lane);
    const Taken<R> constant = coefficients<R>(g.constant + turns.lane);
    const Rectify<R> rectified(n.slope);
    for (std::int64_t turn = 0; turn < turns.count; ++turn) {
      const std::int64_t at = turns.at(turn);
      const Taken<R> x = load<R>(source + at, turns.lanes), dy = load<R>(gradient + at, turns.lanes);
      Taken<R> dx;
      for (int v = 0; v < R::vectors; ++v) {
        const FloatsOf<R> fromMean = of.fromMean(x, v);
        const FloatsOf<R> passed = rectified(of.normalised(fromMean, v), dy.values[v]);
        dx.values[v] = ofGradient.values[v] * passed + (fromMean * ofSource.values[v] + constant.values[v]);
      }
      if constexpr (Add) {
        const Taken<R> before = load<R>(sourceGradient + at, turns.lanes);
        for (int v = 0; v < R::vectors; ++v) dx.values[v] += before.values[v];
      }
      store<R>(sourceGradient + at, dx, turns.lanes);
    }
  }
};

}  // namespace

template <class T>
void addDeviations(const Strip& strip, const T* source, const float* origin, LaneSums& sums) {
  forProcessor([=, &strip, &sums]() TILEFOLD_INLINED { forSums<T>(strip, AddDeviations<T>{source, origin, sums}); });
}

template <class T>
void normalise(const Strip& strip, const LaneNormalisers& n, const T* source, T* destination) {
  forProcessor([=, &strip, &n]() TILEFOLD_INLINED {
    if (n.slope == 0)
      forTurns<T>(strip, NormaliseStrip<ToZero, T>{n, source, destination});
    else
      forTurns<T>(strip, NormaliseStrip<BySlope, T>{n, source, destination});
  });
}

template <class T>
void addGradients(const Strip& strip, const LaneNormalisers& n, const T* source, const T* gradient, LaneSums& sums) {
  forProcessor([=, &strip, &n, &sums]() TILEFOLD_INLINED {
    if (n.slope == 0)
      forSums<T>(strip, AddGradients<ToZero, T>{n, source, gradient, sums});
    else
      forSums<T>(strip, AddGradients<BySlope, T>{n, source, gradient, sums});
  });
}

template <class T>
void normaliseGradient(const Strip& strip, const LaneNormalisers& n, const LaneGradients& g, const T* source, const T* gradient,
                       T* sourceGradient) {
  forProcessor([=, &strip, &n, &g]() TILEFOLD_INLINED {
    if (n.slope == 0)
      forTurns<T>(strip, NormaliseGradient<ToZero, T>{n, g, source, gradient, sourceGradient});
    else
      forTurns<T>(strip, NormaliseGradient<BySlope, T>{n, g, source, gradient, sourceGradient});
  });
}

#define TILEFOLD_INSTANTIATE(T)                                                                    \
  template void addDeviations(const Strip&, const T*, const float*, LaneSums&);                    \
  template void normalise(const Strip&, const LaneNormalisers&, const T*, T*);                     \
  template void addGradients(const Strip&, const LaneNormalisers&, const T*, const T*, LaneSums&); \
  template void normaliseGradient(const Strip&, const LaneNormalisers&, const LaneGradients&, const T*, const T*, T*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
