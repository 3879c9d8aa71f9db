// Which launches of a tile's loop need not run again where the tile's images are as in the
// iteration before.
#pragma once
#include <cstddef>

#include "code_reader.hpp"
#include "open_loops.hpp"

namespace tilefold {

// How many of a loop's first launches leave the same bytes in every iteration in which the first of
// them, a loadImage, loads the same tile; and of those bytes what the other launches read is there
// still at the end of an iteration. So after an iteration with the same tile only the others need
// run, which gives the same bytes. 0 where there are none but the loadImage, or where the body
// holds anything but launches of the compute engine. `loops` are those around the body, its own
// included.
std::size_t repeatedLaunches(const Code& body, const CodeLimits& limits, const OpenLoops& loops);

}  // namespace tilefold
