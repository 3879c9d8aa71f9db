// What a profile measures: one launch of a kernel, and the link between arena and host.
#pragma once
#include "device.hpp"

namespace tilefold {

// Milliseconds of one launch: the median of repeated ones that take about `enough` milliseconds together, three at least. Operands
// are fresh memory of the right size. Throws Failure where the device refuses the kernel or the memory is missing.
double timeKernel(const Kernel& kernel, Device& device, double enough);

// Bytes a second of a plain copy by one thread, as the copy engines run.
double timeCopy();

}  // namespace tilefold
