#include "image_windows.hpp"

#include <algorithm>
#include <utility>

#include "../failure.hpp"

namespace tilefold {

ImageWindows::ImageWindows(std::int64_t pixelBytes, std::size_t mostBytes, std::function<void(const ImageWindow&)> ask)
    : pixelBytes_(pixelBytes), mostBytes_(mostBytes), ask_(std::move(ask)) {}

std::int64_t ImageWindows::mostRows(std::int64_t width) const {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(mostBytes_) / checkedMultiply(width, pixelBytes_));
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
