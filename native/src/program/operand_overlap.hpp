// What a kernel writes lies apart from all else that it is given: labels and indices, once checked,
// stay as they are, and threads share no element.
#pragma once
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "open_loops.hpp"
#include "operand.hpp"

namespace tilefold {

// The positions of two operands that overlap at some iteration and may not, if there are any.
std::optional<std::pair<std::size_t, std::size_t>> findOverlap(const std::vector<Address>& operands, const Kernel& kernel,
                                                               const std::vector<OperandExtent>& extents, const OpenLoops& loops);

}  // namespace tilefold
