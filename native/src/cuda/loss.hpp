// Losses. Semantics: reference/loss.hpp; what is summed is summed in double, the cross entropy row after row. A label outside the classes
// is recorded in context.fault before anything is written, and nothing is.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// `rowWeights` may be null.
void softmaxCrossEntropyForward(const Context& context, const CrossEntropy& c, const float* source, const std::int32_t* labels,
                                const float* rowWeights, double* loss);
void softmaxCrossEntropyBackward(const Context& context, const CrossEntropy& c, const float* source, const std::int32_t* labels,
                                 const float* rowWeights, float* sourceGradient);

void meanSquaredErrorForward(const Context& context, const SquaredError& s, const float* source, const float* target, double* loss);
void meanSquaredErrorBackward(const Context& context, const SquaredError& s, const float* source, const float* target,
                              float* sourceGradient);

}  // namespace tilefold::cuda
