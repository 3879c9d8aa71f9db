// Pixels of a row whose windows lie in it, for loops that sum the others by themselves.
#pragma once
#include <algorithm>
#include <cstdint>

#include "../processor/processor.hpp"

namespace tilefold::cpu {

struct InnerPixels {
  std::int64_t begin, end;
};

// Those among pixels [begin, end) of which every tap reads a place in 0 .. width - 1: the first tap
// of pixel p reads p * stride + shift, the last one `reach` places on.
TILEFOLD_INLINE InnerPixels innerPixels(std::int64_t begin, std::int64_t end, std::int64_t stride, std::int64_t shift, std::int64_t reach,
                                        std::int64_t width) {
  const std::int64_t before = std::max<std::int64_t>(0, (stride - 1 - shift) / stride), after = width - 1 - reach - shift;
  const std::int64_t first = std::clamp(before, begin, end);
  return {first, std::clamp(after < 0 ? 0 : after / stride + 1, first, end)};
}

}  // namespace tilefold::cpu
