// Expressions that are not compiled, in float32.
#pragma once
#include "../../kernels/expression.hpp"

namespace tilefold::cuda {

// An expression that is not compiled: every thread goes through its steps, which come with the
// launch.
class Interpreted {
 public:
  explicit Interpreted(const std::vector<double>& code) {
    for (const ExpressionStep& step : expressionSteps(code))
      steps_[count_++] = {static_cast<std::uint8_t>(step.operation), step.destination, step.a, step.b, step.c, static_cast<float>(step.constant)};
  }

  __device__ float operator()(const Leaves<float>& leaves) const {
    float registers[registerCount];
    float result = 0;
    for (int i = 0; i < count_; ++i) {
      const Step& step = steps_[i];
      result = computeStep(static_cast<Operation>(step.operation), registers[step.a], registers[step.b], registers[step.c], step.constant,
                           leaves);
      registers[step.destination] = result;
    }
    return result;
  }

 private:
  struct Step {
    std::uint8_t operation, destination, a, b, c;
    float constant;
  };

  int count_ = 0;
  Step steps_[maxSteps] = {};
};

}  // namespace tilefold::cuda
