// A bias on its own, in blocked layouts.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "launch.hpp"

namespace tilefold::cpu {

Launch addBias(const Tile& t);
// The same bits for any number of threads.
Launch sumBias(const Tile& t);

}  // namespace tilefold::cpu
