// The loops around an instruction whose code is read.
#pragma once
#include <array>
#include <cstdint>
#include <utility>

#include "program.hpp"

namespace tilefold {

class OpenLoops {
 public:
  bool any() const;
  bool has(std::size_t axis) const { return counts_[axis] != 0; }
  void enter(std::size_t axis, std::int64_t count) { counts_[axis] = count; }
  void leave(std::size_t axis) { counts_[axis] = 0; }

  // Smallest and largest value over all iterations. Throws Failure where they are no 64 bits.
  std::pair<std::int64_t, std::int64_t> extremes(const Offset& offset) const;
  // Whether it is a multiple of `alignment` at every iteration.
  bool isAligned(const Offset& offset, std::int64_t alignment) const;

 private:
  std::array<std::int64_t, axisCount> counts_{};  // 0: not inside one
};

}  // namespace tilefold
