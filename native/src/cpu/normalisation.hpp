// Statistics and normalisation of tiles in any layout, at the speed of memory. Sums are formed over
// pieces of a tile that depend on its shape alone and added in order, so that no result depends on
// the number of threads.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "launch.hpp"

namespace tilefold::cpu {

Launch momentsForward(const GroupedTile& t);
Launch normaliseForward(const Normalise& n);
Launch normaliseBackwardReduce(const Normalise& n);
Launch normaliseBackward(const Normalise& n);

}  // namespace tilefold::cpu
