// Channels from one activation to another, of any layouts: concatenation and its gradient.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// Where the channels are the last of a blocked destination and not added, its padding is zeroed.
// T: float or Bfloat16.
template <class T>
Launch copyChannels(const CopyChannels& c);

}  // namespace tilefold::cpu
