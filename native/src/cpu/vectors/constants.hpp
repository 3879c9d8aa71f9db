// Numbers that are known as a loop is compiled, so that registers hold what it sums.
#pragma once
#include <cstdint>
#include <type_traits>

#include "../processor/processor.hpp"

namespace tilefold::cpu {

// body(constant) of a number from Least to Most: a std::integral_constant, for loops of so many.
template <int Least, int Most, class Body>
TILEFOLD_INLINE void withConstant(std::int64_t number, const Body& body) {
  if constexpr (Least < Most)
    if (number != Most) return withConstant<Least, Most - 1>(number, body);
  body(std::integral_constant<int, Most>{});
}

// body(constant) of each number from First up to Last, which is left out.
template <int First, int Last, class Body>
TILEFOLD_INLINE void forConstants(const Body& body) {
  if constexpr (First < Last) {
    body(std::integral_constant<int, First>{});
    forConstants<First + 1, Last>(body);
  }
}

}  // namespace tilefold::cpu
