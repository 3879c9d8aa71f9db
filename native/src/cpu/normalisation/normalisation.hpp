// Statistics and normalisation of tiles in any layout, at the speed of memory. Sums are formed over
// pieces of a tile that depend on its shape alone and added in order, so that no result depends on
// the number of threads. T: float or Bfloat16.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

template <class T>
Launch momentsForward(const GroupedTile& t);
template <class T>
Launch normaliseForward(const Normalise& n);
template <class T>
Launch normaliseBackwardReduce(const Normalise& n);
template <class T>
Launch normaliseBackward(const Normalise& n);

}  // namespace tilefold::cpu
