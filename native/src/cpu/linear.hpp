// Fully connected layers. Batches are small, so each weight is read (or written) once and memory
// sets the pace.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "operands/launch.hpp"

namespace tilefold::cpu {

template <class T>
Launch linearForward(const Linear& l);
template <class T>
Launch linearBackwardData(const Linear& l);
template <class T>
Launch linearBackwardWeights(const Linear& l);

}  // namespace tilefold::cpu
