#include "normalisation_loops.hpp"

#include "normalisation_vectors.hpp"

// Vectors cross no call, since all that takes them is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tilefold::cpu {
namespace {

using namespace normalisation;

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
    using Own = Sums<Vectors, T>;
    Own own;
    const Coefficients<Vectors, T> origins(origin + lane);
    typename Own::Sum from[Vectors];
    for (int v = 0; v < Vectors; ++v) from[v] = Own::converted(origins.values[v]);
    own.over(strip.count, [&](std::int64_t p, typename Own::Sum(&first)[Vectors], typename Own::Sum(&second)[Vectors]) TILEFOLD_INLINED {
      const Pixel<Vectors> x = loadPixel<Vectors, Whole>(source + p * strip.step + lane, lanes);
      for (int v = 0; v < Vectors; ++v) {
        const typename Own::Sum apart = Own::converted(x.values[v]) - from[v];
        first[v] += apart;
        second[v] += apart * apart;
      }
    });
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
    const Coefficients<Vectors, T> mean(n.mean + lane), scale(n.scale + lane), shift(n.shift + lane);
    const Rectify rectified(n.slope);
    for (std::int64_t p = 0; p < strip.count; ++p) {
      const std::int64_t at = p * strip.step + lane;
      Pixel<Vectors> pixel = loadPixel<Vectors, Whole>(source + at, lanes);
      for (int v = 0; v < Vectors; ++v)
        pixel.values[v] = rectified(normalised(pixel.values[v] - mean.values[v], scale.values[v], shift.values[v]));
      storePixel<Vectors, Whole>(destination + at, pixel, lanes);
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
    using Own = Sums<Vectors, T>;
    const Coefficients<Vectors, T> mean(n.mean + lane), scale(n.scale + lane), shift(n.shift + lane);
    const Rectify rectified(n.slope);
    Own own;
    own.over(strip.count, [&](std::int64_t p, typename Own::Sum(&first)[Vectors], typename Own::Sum(&second)[Vectors]) TILEFOLD_INLINED {
      const std::int64_t at = p * strip.step + lane;
      const Pixel<Vectors> x = loadPixel<Vectors, Whole>(source + at, lanes), dy = loadPixel<Vectors, Whole>(gradient + at, lanes);
      for (int v = 0; v < Vectors; ++v) {
        const Floats fromMean = x.values[v] - mean.values[v];
        const typename Own::Sum passed = Own::converted(rectified(normalised(fromMean, scale.values[v], shift.values[v]), dy.values[v]));
        first[v] += passed;
        second[v] += passed * Own::converted(fromMean);
      }
    });
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
    const Coefficients<Vectors, T> mean(n.mean + lane), scale(n.scale + lane), shift(n.shift + lane);
    const Coefficients<Vectors, T> ofGradient(g.gradient + lane), ofSource(g.source + lane), constant(g.constant + lane);
    const Rectify rectified(n.slope);
    for (std::int64_t p = 0; p < strip.count; ++p) {
      const std::int64_t at = p * strip.step + lane;
      const Pixel<Vectors> x = loadPixel<Vectors, Whole>(source + at, lanes), dy = loadPixel<Vectors, Whole>(gradient + at, lanes);
      Pixel<Vectors> dx;
      for (int v = 0; v < Vectors; ++v) {
        const Floats fromMean = x.values[v] - mean.values[v];
        const Floats passed = rectified(normalised(fromMean, scale.values[v], shift.values[v]), dy.values[v]);
        dx.values[v] = ofGradient.values[v] * passed + (fromMean * ofSource.values[v] + constant.values[v]);
      }
      if constexpr (Add) {
        const Pixel<Vectors> before = loadPixel<Vectors, Whole>(sourceGradient + at, lanes);
        for (int v = 0; v < Vectors; ++v) dx.values[v] += before.values[v];
      }
      storePixel<Vectors, Whole>(sourceGradient + at, dx, lanes);
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
