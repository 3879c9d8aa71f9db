// Updates of weights, in place. Semantics: reference/optimizer.hpp; learning rate and step number
// are the device's.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// `velocity` may be null when momentum is 0.
void sgd(const Context& context, const Sgd& s, float* weights, const float* gradient, float* velocity);
void adam(const Context& context, const Adam& a, float* weights, const float* gradient, float* firstMoment, float* secondMoment);

}  // namespace tilefold::cuda
