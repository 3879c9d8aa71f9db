// sigmoid, tanh, silu and gelu of activations in any layout; channel padding stays zero.
#pragma once
#include "../kernel_fields.hpp"
#include "launch.hpp"

namespace tilefold::cpu {

Launch activationForward(const Activation& a);
Launch activationBackward(const Activation& a);

}  // namespace tilefold::cpu
