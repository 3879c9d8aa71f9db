// Reads the numbers of one section's code into instructions, holding every operand against its
// space.
#pragma once
#include <vector>

#include "operand.hpp"
#include "program.hpp"

namespace tilefold {

struct CodeLimits {
  const std::vector<Kernel>& kernels;
  const std::vector<std::vector<OperandExtent>>& extents;  // one row a kernel
  std::int64_t arenaBytes, hostBytes, stepIoBytes;
  Pages pages;
  std::int64_t memoryBytes;  // behind the pages
};

// Sets the section's code, events and whether it loads images. Throws Failure for anything that is
// not whole and sound.
void readCode(const std::vector<double>& numbers, const CodeLimits& limits, Section& section);

}  // namespace tilefold
