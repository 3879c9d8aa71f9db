// Kernels that touch every element once, in order: rectifiers, sums, optimizers, zero.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "launch.hpp"

namespace tilefold::cpu {

// On all threads, in place where source = destination.
void rectifyAll(const float* source, float* destination, std::int64_t count, float slope);

Launch rectifierForward(const Rectifier& r);
Launch rectifierBackward(const Rectifier& r);
Launch addForward(const Rectifier& r);
// torch.optim.SGD and torch.optim.Adam / AdamW, coefficients in double, elements in float.
Launch sgd(const Sgd& s);
Launch adam(const Adam& a);
Launch zero(const Zero& z);

}  // namespace tilefold::cpu
