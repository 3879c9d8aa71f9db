// Loops over vectors of channels for statistics and normalisation, with coefficients that stay in
// registers. They fuse no products, so that a result's sign is the same wherever it is formed, and
// depend on nothing but their operands. T: float or Bfloat16, computed with as float.
#pragma once
#include <cstdint>

#include "../../kernels/bfloat16.hpp"

namespace tilefold::cpu {

constexpr std::int64_t laneCount = 16;

// `count` vectors of `lanes` elements (at most laneCount), `step` elements apart.
struct Strip {
  std::int64_t count, step, lanes;
};

// y = (x - mean) * scale + shift, then the rectifier.
struct LaneNormalisers {
  float mean[laneCount] = {}, scale[laneCount] = {}, shift[laneCount] = {};
  float slope = 1;
};

// dx = gradient * dy + ((x - mean) * source + constant), dy after the rectifier's mask.
struct LaneGradients {
  float gradient[laneCount] = {}, source[laneCount] = {}, constant[laneCount] = {};
  bool add = false;
};

// Two sums of each lane, which the loops add to.
struct LaneSums {
  double first[laneCount] = {}, second[laneCount] = {};
};

// Sums of x - origin and of its square.
template <class T>
void addDeviations(const Strip& strip, const T* source, const float* origin, LaneSums& sums);

template <class T>
void normalise(const Strip& strip, const LaneNormalisers& n, const T* source, T* destination);

// Sums of dy and of dy * (x - mean), dy after the rectifier's mask.
template <class T>
void addGradients(const Strip& strip, const LaneNormalisers& n, const T* source, const T* gradient, LaneSums& sums);

// The gradients may coincide.
template <class T>
void normaliseGradient(const Strip& strip, const LaneNormalisers& n, const LaneGradients& g, const T* source, const T* gradient,
                       T* sourceGradient);

}  // namespace tilefold::cpu
