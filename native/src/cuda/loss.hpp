// Losses. Semantics: reference/loss.hpp; what is summed is summed in double, the cross entropy row
// after row. A label outside the classes is recorded in context.fault before anything is written,
// and nothing is.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// `rowWeights` may be null.
template <class T>
void softmaxCrossEntropyForward(const Context& context, const CrossEntropy& c, const T* source, const std::int32_t* labels,
                                const float* rowWeights, double* loss);
template <class T>
void softmaxCrossEntropyBackward(const Context& context, const CrossEntropy& c, const T* source, const std::int32_t* labels,
                                 const float* rowWeights, T* sourceGradient);

template <class T>
void meanSquaredErrorForward(const Context& context, const SquaredError& s, const T* source, const float* target, double* loss);
template <class T>
void meanSquaredErrorBackward(const Context& context, const SquaredError& s, const T* source, const float* target, T* sourceGradient);

}  // namespace tilefold::cuda
