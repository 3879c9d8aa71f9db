// Bytes of the arena that an instruction touches.
#pragma once
#include <cstdint>

namespace tilefold {

// Half-open; at any iteration of the loops around.
struct ArenaRange {
  std::int64_t from = 0, to = 0;
};

}  // namespace tilefold
