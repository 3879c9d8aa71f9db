// Kernels as staging's encodeKernel writes them.
#pragma once
#include <vector>

#include "../kernels/kernels.hpp"

namespace tilefold {

// [code, ...fields] of one kernel after the other. Throws Failure for anything that is not a sound
// kernel.
std::vector<Kernel> decodeKernels(const std::vector<double>& numbers);

}  // namespace tilefold
