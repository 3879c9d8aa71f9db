// Dropout in blocked layouts.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// Operands: source, destination, which may coincide, and the tile's origin. The bits are the
// reference's.
template <class T>
Launch dropout(const Dropout& d);

}  // namespace tilefold::cpu
