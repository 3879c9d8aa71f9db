// Updates of contiguous weights by optimizers.
#pragma once
#include <cstdint>

namespace tilefold::cpu {

struct SgdStep {
  float rate, momentum, weightDecay;
  bool first;  // the velocity becomes the gradient
};
// `velocity` may be null: plain gradient descent.
void sgdUpdate(const SgdStep& step, float* weights, const float* gradient, float* velocity, std::int64_t count);

struct AdamStep {
  float beta1, beta2, rest1, rest2;  // rest: 1 - beta, formed in double
  float epsilon;
  float decay;             // added to the gradient, times the weights (Adam)
  float shrink;            // what the weights are multiplied with first (AdamW), else 1
  float stepSize;          // rate / (1 - beta1^t)
  float secondCorrection;  // sqrt(1 - beta2^t)
};
void adamUpdate(const AdamStep& step, float* weights, const float* gradient, float* firstMoment, float* secondMoment, std::int64_t count);

}  // namespace tilefold::cpu
