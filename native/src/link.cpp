#include "link.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tilefold {
namespace {

// So much moves between two looks at the clock and at whether the run is to end.
constexpr std::int64_t chunkBytes = 256 << 10;
// A sleep ends late; what follows makes up for that much of it.
constexpr auto latest = std::chrono::milliseconds(1);

}  // namespace

void checkLinkRate(double bytesPerSecond) {
  if (!std::isfinite(bytesPerSecond) || bytesPerSecond < 0 || (bytesPerSecond > 0 && bytesPerSecond < 1))
    throw Failure("a link moves at least 1 byte per second, or 0 for no limit, not " + std::to_string(bytesPerSecond));
}

bool Link::copy(const Rows& from, const Rows& to, std::int64_t rows, std::int64_t rowBytes, Progress& progress) {
  due_ += Clock::now() - rested_;
  std::int64_t moved = 0;
  bool going = true;
  for (std::int64_t row = 0; going && row < rows; ++row)
    for (std::int64_t at = 0; going && at < rowBytes;) {
      const std::int64_t bytes = std::min(rowBytes - at, chunkBytes - moved);
      std::memcpy(to.first + row * to.stride + at, from.first + row * from.stride + at, static_cast<std::size_t>(bytes));
      at += bytes;
      moved += bytes;
      if (moved < chunkBytes) continue;
      going = pace(moved, progress);
      moved = 0;
    }
  going = going && pace(moved, progress);
  rested_ = Clock::now();
  due_ = std::min(due_, rested_);
  return going;
}

bool Link::pace(std::int64_t bytes, Progress& progress) {
  if (progress.ended()) return false;
  if (bytesPerSecond_ == 0) return true;
  due_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(static_cast<double>(bytes) / bytesPerSecond_));
  const Clock::time_point now = Clock::now();
  due_ = std::max(due_, now - latest);
  return due_ <= now || progress.sleepUntil(due_);
}

}  // namespace tilefold
