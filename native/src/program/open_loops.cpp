#include "open_loops.hpp"

#include <algorithm>

namespace tilefold {

bool OpenLoops::any() const {
  return std::any_of(counts_.begin(), counts_.end(), [](std::int64_t count) { return count != 0; });
}

std::pair<std::int64_t, std::int64_t> OpenLoops::extremes(const Offset& offset) const {
  std::int64_t least = offset.base, most = offset.base;
  for (std::size_t axis = 0; axis < axisCount; ++axis) {
    if (counts_[axis] == 0) continue;
    const std::int64_t last = checkedMultiply(offset.strides[axis], counts_[axis] - 1);
    (last < 0 ? least : most) = checkedAdd(last < 0 ? least : most, last);
  }
  return {least, most};
}

bool OpenLoops::isAligned(const Offset& offset, std::int64_t alignment) const {
  bool aligned = offset.base % alignment == 0;
  for (std::size_t axis = 0; axis < axisCount; ++axis)
    if (counts_[axis] > 1) aligned = aligned && offset.strides[axis] % alignment == 0;
  return aligned;
}

}  // namespace tilefold
