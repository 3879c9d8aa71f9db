// Updates of weights, in place; as torch.optim does them.
#pragma once
#include <cstdint>

#include "../kernel_fields.hpp"

namespace tilefold::reference {

// Stochastic gradient descent with momentum; `velocity` may be null when momentum is 0. The first
// step has number 0.
template <class T>
void sgd(const Sgd& s, double learningRate, std::uint64_t step, T* weights, const T* gradient, T* velocity);

// Adam (Kingma, Ba 2015), or AdamW (Loshchilov, Hutter 2019) when decoupled.
template <class T>
void adam(const Adam& a, double learningRate, std::uint64_t step, T* weights, const T* gradient, T* firstMoment, T* secondMoment);

}  // namespace tilefold::reference
