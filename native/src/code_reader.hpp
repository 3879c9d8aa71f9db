// Reads the numbers of one section's code into instructions, holding every operand against its space.
#pragma once
#include <vector>

#include "operand.hpp"
#include "program.hpp"

namespace tilefold {

struct CodeLimits {
  const std::vector<Kernel>& kernels;
  const std::vector<std::vector<OperandExtent>>& extents;  // one row a kernel
  std::int64_t arenaBytes, exchangeBytes;
};

struct Code {
  std::vector<Instruction> instructions;
  bool loadsImages = false;
};

Code readCode(const std::vector<double>& numbers, const CodeLimits& limits);

}  // namespace tilefold
