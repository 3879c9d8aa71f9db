#include "normalisation_loops.hpp"

#include "lanes.hpp"

// Vectors cross no call, since all that takes them is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tilefold::cpu {
namespace {

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

// One coefficient of each lane.
template <int Vectors>
struct Coefficients {
  TILEFOLD_INLINE explicit Coefficients(const float* lanes) {
    for (int v = 0; v < Vectors; ++v) values[v] = Lanes<width>::at(lanes + v * width);
  }
  Floats values[Vectors];
};

template <int Vectors>
struct Sums {
  TILEFOLD_INLINE void addTo(LaneSums& sums, std::int64_t lane) const {
    for (std::int64_t i = 0; i < Vectors * width; ++i) {
      sums.first[lane + i] += first[i / width][i % width];
      sums.second[lane + i] += second[i / width][i % width];
    }
  }
  Doubles first[Vectors] = {}, second[Vectors] = {};
};

// body(vectors, whether they are whole, first lane, lanes) over a strip's lanes: both vectors in
// one go where there are two.
template <class Body>
TILEFOLD_INLINE void forVectors(const Strip& strip, const Body& body) {
  if (strip.lanes == 2 * width) return body.template run<2, true>(0, width);
  for (std::int64_t lane = 0; lane < strip.lanes; lane += width) {
    const std::int64_t lanes = strip.lanes - lane;
    if (lanes >= width)
      body.template run<1, true>(lane, width);
    else
      body.template run<1, false>(lane, lanes);
  }
}

// As Normaliser of ../normalisation.hpp.
TILEFOLD_INLINE Floats normalised(const Floats& fromMean, const Floats& scale, const Floats& shift) { return fromMean * scale + shift; }

typedef std::uint32_t Bits __attribute__((vector_size(width * sizeof(std::uint32_t))));
using Integers = Lanes<width>::Integers;

// All bits where a float is above 0, which its bits are then as a signed number. (GCC 12 fails over
// comparisons of vectors here, whose masks differ between clones.)
TILEFOLD_INLINE Integers above(const Floats& y) {
  const Bits bits = reinterpret_cast<Bits>(y);
  return reinterpret_cast<Integers>(-bits & ~bits) >> 31;
}

// As ../rectifier.hpp; which of the two is chosen outside of the loops.
struct ToZero {
  TILEFOLD_INLINE explicit ToZero(float) {}
  TILEFOLD_INLINE Floats operator()(const Floats& y) const {
    constexpr std::int32_t infinity = 0x7f800000;
    const Integers isNone = (infinity - (reinterpret_cast<Integers>(y) & 0x7fffffff)) >> 31;
    return reinterpret_cast<Floats>((above(y) | isNone) & reinterpret_cast<Integers>(y));
  }
  // Where y is not a number, x - mean is none either, and makes none of the gradient.
  TILEFOLD_INLINE Floats operator()(const Floats& y, const Floats& dy) const {
    return reinterpret_cast<Floats>(above(y) & reinterpret_cast<Integers>(dy));
  }
};

struct BySlope {
  TILEFOLD_INLINE explicit BySlope(float by) : slope(by) {}
  TILEFOLD_INLINE Floats operator()(const Floats& y) const { return (*this)(y, y); }
  TILEFOLD_INLINE Floats operator()(const Floats& y, const Floats& dy) const {
    const Integers passes = above(y);
    const Floats scaled = slope * dy;
    return reinterpret_cast<Floats>((passes & reinterpret_cast<Integers>(dy)) | (~passes & reinterpret_cast<Integers>(scaled)));
  }
  float slope;
};

template <class T>
struct AddDeviations {
  const Strip strip;
  const T* source;
  const float* origin;
  LaneSums& sums;

  template <int Vectors, bool Whole>
  TILEFOLD_INLINE void run(std::int64_t lane, std::int64_t lanes) const {
    Sums<Vectors> own;
    Doubles from[Vectors];
    for (int v = 0; v < Vectors; ++v) from[v] = widened(load<true>(origin + lane + v * width, lanes));
    for (std::int64_t p = 0; p < strip.count; ++p)
      for (int v = 0; v < Vectors; ++v) {
        const Doubles apart = widened(load<Whole>(source + p * strip.step + lane + v * width, lanes)) - from[v];
        own.first[v] += apart;
        own.second[v] += apart * apart;
      }
    own.addTo(sums, lane);
  }
};

template <class Rectify, class T>
struct NormaliseStrip {
  const Strip strip;
  const LaneNormalisers& n;
  const T* source;
  T* destination;

  template <int Vectors, bool Whole>
  TILEFOLD_INLINE void run(std::int64_t lane, std::int64_t lanes) const {
    const Coefficients<Vectors> mean(n.mean + lane), scale(n.scale + lane), shift(n.shift + lane);
    const Rectify rectified(n.slope);
    for (std::int64_t p = 0; p < strip.count; ++p)
      for (int v = 0; v < Vectors; ++v) {
        const std::int64_t at = p * strip.step + lane + v * width;
        const Floats y = normalised(load<Whole>(source + at, lanes) - mean.values[v], scale.values[v], shift.values[v]);
        store<Whole>(destination + at, rectified(y), lanes);
      }
  }
};

template <class Rectify, class T>
struct AddGradients {
  const Strip strip;
  const LaneNormalisers& n;
  const T *source, *gradient;
  LaneSums& sums;

  template <int Vectors, bool Whole>
  TILEFOLD_INLINE void run(std::int64_t lane, std::int64_t lanes) const {
    const Coefficients<Vectors> mean(n.mean + lane), scale(n.scale + lane), shift(n.shift + lane);
    const Rectify rectified(n.slope);
    Sums<Vectors> own;
    for (std::int64_t p = 0; p < strip.count; ++p)
      for (int v = 0; v < Vectors; ++v) {
        const std::int64_t at = p * strip.step + lane + v * width;
        const Floats fromMean = load<Whole>(source + at, lanes) - mean.values[v];
        const Floats dy = load<Whole>(gradient + at, lanes);
        const Doubles passed = widened(rectified(normalised(fromMean, scale.values[v], shift.values[v]), dy));
        own.first[v] += passed;
        own.second[v] += passed * widened(fromMean);
      }
    own.addTo(sums, lane);
  }
};

template <class Rectify, class T>
struct NormaliseGradient {
  const Strip strip;
  const LaneNormalisers& n;
  const LaneGradients& g;
  const T *source, *gradient;
  T* sourceGradient;

  template <int Vectors, bool Whole>
  TILEFOLD_INLINE void run(std::int64_t lane, std::int64_t lanes) const {
    if (g.add)
      runAs<Vectors, Whole, true>(lane, lanes);
    else
      runAs<Vectors, Whole, false>(lane, lanes);
  }

  template <int Vectors, bool Whole, bool Add>
  TILEFOLD_INLINE void runAs(std::int64_t lane, std::int64_t lanes) const {
    const Coefficients<Vectors> mean(n.mean + lane), scale(n.scale + lane), shift(n.shift + lane);
    const Coefficients<Vectors> ofGradient(g.gradient + lane), ofSource(g.source + lane), constant(g.constant + lane);
    const Rectify rectified(n.slope);
    for (std::int64_t p = 0; p < strip.count; ++p)
      for (int v = 0; v < Vectors; ++v) {
        const std::int64_t at = p * strip.step + lane + v * width;
        const Floats fromMean = load<Whole>(source + at, lanes) - mean.values[v];
        const Floats dy = load<Whole>(gradient + at, lanes);
        const Floats passed = rectified(normalised(fromMean, scale.values[v], shift.values[v]), dy);
        Floats dx = ofGradient.values[v] * passed + (fromMean * ofSource.values[v] + constant.values[v]);
        if constexpr (Add) dx += load<Whole>(sourceGradient + at, lanes);
        store<Whole>(sourceGradient + at, dx, lanes);
      }
  }
};

}  // namespace

template <class T>
void addDeviations(const Strip& strip, const T* source, const float* origin, LaneSums& sums) {
  forProcessor([=, &strip, &sums]() TILEFOLD_INLINED { forVectors(strip, AddDeviations<T>{strip, source, origin, sums}); });
}

template <class T>
void normalise(const Strip& strip, const LaneNormalisers& n, const T* source, T* destination) {
  forProcessor([=, &strip, &n]() TILEFOLD_INLINED {
    if (n.slope == 0)
      forVectors(strip, NormaliseStrip<ToZero, T>{strip, n, source, destination});
    else
      forVectors(strip, NormaliseStrip<BySlope, T>{strip, n, source, destination});
  });
}

template <class T>
void addGradients(const Strip& strip, const LaneNormalisers& n, const T* source, const T* gradient, LaneSums& sums) {
  forProcessor([=, &strip, &n, &sums]() TILEFOLD_INLINED {
    if (n.slope == 0)
      forVectors(strip, AddGradients<ToZero, T>{strip, n, source, gradient, sums});
    else
      forVectors(strip, AddGradients<BySlope, T>{strip, n, source, gradient, sums});
  });
}

template <class T>
void normaliseGradient(const Strip& strip, const LaneNormalisers& n, const LaneGradients& g, const T* source, const T* gradient,
                       T* sourceGradient) {
  forProcessor([=, &strip, &n, &g]() TILEFOLD_INLINED {
    if (n.slope == 0)
      forVectors(strip, NormaliseGradient<ToZero, T>{strip, n, g, source, gradient, sourceGradient});
    else
      forVectors(strip, NormaliseGradient<BySlope, T>{strip, n, g, source, gradient, sourceGradient});
  });
}

#define TILEFOLD_INSTANTIATE(T)                                                                           \
  template void addDeviations(const Strip&, const T*, const float*, LaneSums&);                           \
  template void normalise(const Strip&, const LaneNormalisers&, const T*, T*);                            \
  template void addGradients(const Strip&, const LaneNormalisers&, const T*, const T*, LaneSums&);        \
  template void normaliseGradient(const Strip&, const LaneNormalisers&, const LaneGradients&, const T*, const T*, T*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
