// What memory is filled with, so that the highest byte that anything wrote can be found afterwards.
#pragma once
#include <cstddef>

namespace tilefold {

// Of any memory, from its start.
void fillPattern(std::byte* memory, std::size_t bytes);
// One past the highest byte that differs from the pattern (0: none does).
std::size_t highestChange(const std::byte* memory, std::size_t bytes);

}  // namespace tilefold
