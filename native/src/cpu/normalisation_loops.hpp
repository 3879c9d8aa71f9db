// Loops over vectors of channels for statistics and normalisation, with coefficients that stay in
// registers. They fuse no products, so that a result's sign is the same wherever it is formed, and
// depend on nothing but their operands.
#pragma once
#include <cstdint>

namespace tilefold::cpu {

constexpr std::int64_t laneCount = 16;

// `count` vectors of `lanes` floats (at most laneCount), `step` floats apart.
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
void addDeviations(const Strip& strip, const float* source, const float* origin, LaneSums& sums);

void normalise(const Strip& strip, const LaneNormalisers& n, const float* source, float* destination);

// Sums of dy and of dy * (x - mean), dy after the rectifier's mask.
void addGradients(const Strip& strip, const LaneNormalisers& n, const float* source, const float* gradient, LaneSums& sums);

// The gradients may coincide.
void normaliseGradient(const Strip& strip, const LaneNormalisers& n, const LaneGradients& g, const float* source, const float* gradient,
                       float* sourceGradient);

}  // namespace tilefold::cpu
