// In what form each operand of a kernel lies in memory.
#pragma once
#include <vector>

#include "kernels/kernel_fields.hpp"

namespace tilefold::test {

struct Form {
  enum class Kind { plain, activation, weights, indices, labels, moment, doubles, statistics, maxima, other } kind = Kind::plain;
  Kernel toPlain{}, fromPlain{};  // of activation and weights: what reorders them
};

// One an operand. `doubles`: losses and sums, never negative. `statistics`: of enough elements to
// divide by, not all alike. `maxima`: elements with their places, or none. `other`: scratch,
// indices, bytes.
std::vector<Form> formsOf(const Kernel& kernel);

}  // namespace tilefold::test
