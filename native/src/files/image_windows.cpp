#include "image_windows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "../failure.hpp"

namespace tilefold {

namespace {

// Where `count` places from `from` on are cut: after at most `step` of them, at a multiple of
// `step`.
std::vector<std::pair<std::int64_t, std::int64_t>> spansOf(std::int64_t from, std::int64_t count, std::int64_t step) {
  std::vector<std::pair<std::int64_t, std::int64_t>> spans;
  for (std::int64_t at = from; at < from + count;) {
    const std::int64_t end = std::min(from + count, (at / step + 1) * step);
    spans.emplace_back(at, end - at);
    at = end;
  }
  return spans;
}

}  // namespace

ImageWindows::ImageWindows(std::int64_t pixelBytes, std::size_t mostBytes, ImageTileExtent tile,
                           std::function<void(const ImageWindow&)> ask)
    : pixelBytes_(pixelBytes), mostBytes_(mostBytes), tile_(tile), ask_(std::move(ask)) {
  if (tile.height < 1 || tile.width < 1) throw Failure("the tiles of an image have no pixels");
}

std::vector<ImageWindow> ImageWindows::split(const ImageWindow& part) const {
  const std::int64_t most = std::max<std::int64_t>(1, static_cast<std::int64_t>(mostBytes_) / pixelBytes_);
  const std::int64_t rowsOfTiles = most / checkedMultiply(std::max(tile_.width, part.width), tile_.height);
  const std::int64_t tiles = most / checkedMultiply(tile_.width, tile_.height);
  // Whole rows of tiles, or else some tiles of one, or else some rows of one tile.
  const std::int64_t rows = rowsOfTiles > 0 ? rowsOfTiles * tile_.height : tiles > 0 ? tile_.height : std::max<std::int64_t>(1, most / tile_.width);
  const std::int64_t columns = rowsOfTiles > 0 ? part.left + part.width : tiles > 0 ? tiles * tile_.width : std::min(tile_.width, most);
  std::vector<ImageWindow> windows;
  for (const auto& [top, height] : spansOf(part.top, part.height, rows))
    for (const auto& [left, width] : spansOf(part.left, part.width, columns)) windows.push_back({top, left, height, width});
  return windows;
}

std::optional<ImageWindows::Pixels> ImageWindows::take(const ImageWindow& window) {
  // Two engines may load at once.
  const std::lock_guard<std::mutex> turn(turn_);
  std::unique_lock<std::mutex> lock(mutex_);
  if (ended_) return std::nullopt;
  given_.reset();
  refused_.reset();
  lock.unlock();
  ask_(window);
  lock.lock();
  changed_.wait(lock, [this] { return ended_ || given_ || refused_; });
  if (ended_) return std::nullopt;
  if (refused_) throw Failure(*refused_);
  const auto bytes = static_cast<std::size_t>(window.height * window.width * pixelBytes_);
  if (given_->size() != bytes)
    throw Failure("a window of " + std::to_string(bytes) + " bytes was answered with " + std::to_string(given_->size()));
  return std::exchange(given_, std::nullopt);
}

void ImageWindows::give(const std::uint8_t* pixels, std::size_t bytes) {
  Pixels copy(pixels, pixels + bytes);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    given_ = std::move(copy);
  }
  changed_.notify_all();
}

void ImageWindows::refuse(const std::string& sentence) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    refused_ = sentence;
  }
  changed_.notify_all();
}

void ImageWindows::end() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

}  // namespace tilefold
