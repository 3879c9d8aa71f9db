// How the loops here walk an activation in any layout: planes of `block` channels, [batch *
// blocks][height][width][block].
#pragma once
#include <algorithm>
#include <cstdint>

#include "../kernels/kernel_fields.hpp"

namespace tilefold::reference {

struct Planes {
  Planes(Layout layout, std::int64_t batch, std::int64_t channelCount)
      : block(channelBlock(layout, channelCount)),
        channels(channelCount),
        blocks((channelCount + block - 1) / block),
        count(batch * blocks) {}
  std::int64_t block, channels, blocks, count;
  std::int64_t image(std::int64_t plane) const { return plane / blocks; }
  std::int64_t firstChannel(std::int64_t plane) const { return plane % blocks * block; }
  // Channels of a plane that are not padding.
  std::int64_t lanes(std::int64_t plane) const { return std::min(block, channels - firstChannel(plane)); }
};

inline Planes planesOf(const Tile& tile) { return Planes(tile.layout, tile.batch, tile.channels); }

}  // namespace tilefold::reference
