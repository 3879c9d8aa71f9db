// A failure that a person can act on: one sentence, which crosses the border to JavaScript as a
// value.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tilefold {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// More memory was asked for than the machine has.
class NoMemory : public Failure {
 public:
  using Failure::Failure;
};

// More threads were asked for than this process may have.
class NoThreads : public Failure {
 public:
  using Failure::Failure;
};

// Whole-number arithmetic that refuses to overflow, for sizes that come from outside.
inline std::int64_t checkedAdd(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw Failure("a size overflows 64 bits: " + std::to_string(a) + " + " + std::to_string(b));
  return sum;
}

inline std::int64_t checkedMultiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw Failure("a size overflows 64 bits: " + std::to_string(a) + " x " + std::to_string(b));
  return product;
}

}  // namespace tilefold
