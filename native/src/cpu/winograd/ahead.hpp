// What the next block of tiles reads, fetched into the second-level cache while products run, which
// leave memory idle. Without it transforms take twice the time and more.
#pragma once
#include <optional>

#include "tiles.hpp"

namespace tilefold::cpu::winograd {

// Every `step`-th of `count` blocks of channels, from `first` on.
struct ChannelBlocks {
  std::int64_t first, count, step;
};

template <int Width, class T>
class Ahead {
 public:
  // Fetches in `parts` parts what the tiles read: `more` rows and columns than they have results.
  // Nothing without tiles.
  Ahead(const Planes<Width>& planes, const T* pixels, const std::optional<Block>& tiles, const Windows& windows, std::int64_t more,
        const ChannelBlocks& channels, std::int64_t parts)
      : planes_(planes), pixels_(pixels), tiles_(tiles), windows_(windows), more_(more), channels_(channels), parts_(parts) {}

  void fetchPart() { fetchTo(count() * ++part_ / parts_); }
  void fetchRest() { fetchTo(count()); }

 private:
  std::int64_t count() const { return tiles_ ? tiles_->count() * channels_.count : 0; }
  void fetchTo(std::int64_t end) {
    for (; done_ < end; ++done_) {
      const Place& place = (*tiles_)[done_ % tiles_->count()];
      const std::int64_t channelBlock = channels_.first + done_ / tiles_->count() * channels_.step;
      const TileSize read{tiles_->size().rows + more_, tiles_->size().columns + more_};
      Pixels<Width, T> window;
      window.find(planes_, pixels_ + planes_.at(place.image, channelBlock), place.y - windows_.padTop, place.x - windows_.padLeft, read,
                  windows_.dilation);
      window.template prefetch<2>();
    }
  }

  const Planes<Width>& planes_;
  const T* pixels_;
  const std::optional<Block>& tiles_;
  Windows windows_;
  std::int64_t more_;
  ChannelBlocks channels_;
  std::int64_t parts_, part_ = 0, done_ = 0;
};

}  // namespace tilefold::cpu::winograd
