// Proves that a kernel's numbers fit together, so that devices may trust them.
#pragma once
#include "../kernels/kernels.hpp"

namespace tilefold {

// Throws Failure: a wrong number of fields, a number out of its range, a size that does not follow
// from the others.
void checkKernel(const Kernel& kernel);

}  // namespace tilefold
