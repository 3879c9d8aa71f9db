// Kernels that touch every element once, in order: rectifiers, sums, optimizers, zero.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// T: float or Bfloat16. On all threads, in place where source = destination.
template <class T>
void rectifyAll(const T* source, T* destination, std::int64_t count, float slope);

template <class T>
Launch rectifierForward(const Rectifier& r);
template <class T>
Launch rectifierBackward(const Rectifier& r);
template <class T>
Launch addForward(const Rectifier& r);
// torch.optim.SGD and torch.optim.Adam / AdamW, coefficients in double, elements in float.
Launch sgd(const Sgd& s);
Launch adam(const Adam& a);
Launch zero(const Zero& z);

}  // namespace tilefold::cpu
