#include "optimizer_loops.hpp"

#include <cmath>

#include "../processor/processor.hpp"

namespace tilefold::cpu {

void sgdUpdate(const SgdStep& step, float* weights, const float* gradient, float* velocity, std::int64_t count) {
  forProcessor([=, &step]() TILEFOLD_INLINED {
    const SgdStep s = step;
    if (velocity == nullptr) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) weights[i] -= s.rate * (gradient[i] + s.weightDecay * weights[i]);
      return;
    }
    // At the first step the velocity's memory may hold anything, so it must not be multiplied by 0.
    if (s.first) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) velocity[i] = gradient[i] + s.weightDecay * weights[i];
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) velocity[i] = s.momentum * velocity[i] + (gradient[i] + s.weightDecay * weights[i]);
    }
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) weights[i] -= s.rate * velocity[i];
  });
}

void adamUpdate(const AdamStep& step, float* weights, const float* gradient, float* firstMoment, float* secondMoment, std::int64_t count) {
  forProcessor([=, &step]() TILEFOLD_INLINED {
    const AdamStep s = step;
    for (std::int64_t i = 0; i < count; ++i) {
      const float weight = weights[i] * s.shrink;
      const float g = gradient[i] + s.decay * weights[i];
      firstMoment[i] = s.beta1 * firstMoment[i] + s.rest1 * g;
      secondMoment[i] = s.beta2 * secondMoment[i] + s.rest2 * g * g;
      weights[i] = weight - s.stepSize * (firstMoment[i] / (std::sqrt(secondMoment[i]) / s.secondCorrection + s.epsilon));
    }
  });
}

}  // namespace tilefold::cpu
