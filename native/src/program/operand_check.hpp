// What an operand of a launch may touch.
#pragma once
#include <optional>

#include "../kernels/kernels.hpp"
#include "arena_range.hpp"
#include "code_reader.hpp"
#include "open_loops.hpp"

namespace tilefold {

// Holds an operand's address against its space at every iteration of the loops around; returns what
// it touches of the arena, nothing where it lies elsewhere. Throws Failure, the rest of a sentence
// that names the operand.
std::optional<ArenaRange> checkOperand(const Address& address, const OperandInfo& info, const OperandExtent& extent, const OpenLoops& loops,
                                       const CodeLimits& limits);

}  // namespace tilefold
