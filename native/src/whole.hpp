// Numbers from outside arrive as doubles; most must be whole.
#pragma once
#include <cmath>
#include <string>

#include "failure.hpp"

namespace tilefold {

// Throws Failure unless `value` is whole within 2^53, where every whole number is exact.
inline std::int64_t wholeNumber(const std::string& what, double value) {
  if (!(value == std::trunc(value) && std::fabs(value) <= 0x1p53))
    throw Failure(what + " is not a whole number within 2^53: " + std::to_string(value));
  return static_cast<std::int64_t>(value);
}

inline std::string text(std::int64_t value) { return std::to_string(value); }

}  // namespace tilefold
