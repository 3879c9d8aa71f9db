// What the next block of tiles reads, fetched into the second-level cache while products run, which
// leave memory idle. Without it transforms take twice the time and more.
#pragma once
#include <optional>

#include "prefetch.hpp"
#include "winograd_tiles.hpp"

namespace tilefold::cpu::winograd {

// The pixels that a tile reads: the first `above` and `before` its place, and `more` rows and
// columns than it has results.
struct Area {
  std::int64_t above, before, more;
  Dilation dilation;
};

// Every `step`-th of `count` blocks of channels, from `first` on.
struct ChannelBlocks {
  std::int64_t first, count, step;
};

template <class T>
class Ahead {
 public:
  // Fetches all of it in `parts` parts; nothing without tiles.
  Ahead(const Planes& planes, const T* pixels, const std::optional<Block>& tiles, const Area& area, const ChannelBlocks& channels,
        std::int64_t parts)
      : planes_(planes), pixels_(pixels), tiles_(tiles), area_(area), channels_(channels), parts_(parts) {}

  void fetchPart() { fetchTo(windows() * ++part_ / parts_); }
  void fetchRest() { fetchTo(windows()); }

 private:
  std::int64_t windows() const { return tiles_ ? tiles_->count() * channels_.count : 0; }
  void fetchTo(std::int64_t end) {
    for (; done_ < end; ++done_) fetch((*tiles_)[done_ % tiles_->count()], channels_.first + done_ / tiles_->count() * channels_.step);
  }
  void fetch(const Place& place, std::int64_t channelBlock) const {
    const T* plane = pixels_ + planes_.at(place.image, channelBlock);
    for (std::int64_t i = 0; i < tiles_->size().rows + area_.more; ++i) {
      const std::int64_t row = place.y - area_.above + i * area_.dilation.rows;
      if (row < 0 || row >= planes_.height) continue;
      for (std::int64_t j = 0; j < tiles_->size().columns + area_.more; ++j) {
        const std::int64_t column = place.x - area_.before + j * area_.dilation.columns;
        if (column >= 0 && column < planes_.width) prefetch<2>(plane + row * planes_.rowStride() + column * lanes);
      }
    }
  }

  const Planes& planes_;
  const T* pixels_;
  const std::optional<Block>& tiles_;
  Area area_;
  ChannelBlocks channels_;
  std::int64_t parts_, part_ = 0, done_ = 0;
};

}  // namespace tilefold::cpu::winograd
