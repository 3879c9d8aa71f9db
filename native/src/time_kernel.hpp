// What a profile measures: one launch of a kernel, and the link between arena and host.
#pragma once
#include "program.hpp"

namespace tilefold {

// Milliseconds of one launch: the median of repeated ones that take about `enough` milliseconds together, three at least. Operands
// are fresh memory of the right size. Throws Failure where the device refuses the kernel or the memory is missing.
double timeKernel(const Kernel& kernel, Device& device, double enough);

// Bytes a second of a copy engine by itself.
double timeCopy(Device& device, Engine engine);

}  // namespace tilefold
