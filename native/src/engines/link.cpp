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
// Less is not worth waking a thread.
constexpr std::int64_t shareBytes = 1 << 20;

// The bytes `begin` .. `end` - 1 of all rows, one after the other.
void copyBytes(const Rows& from, const Rows& to, std::int64_t rowBytes, std::int64_t begin, std::int64_t end, const Progress& progress) {
  while (begin < end && !progress.ended()) {
    const std::int64_t row = begin / rowBytes, at = begin % rowBytes, bytes = std::min({rowBytes - at, end - begin, chunkBytes});
    std::memcpy(to.first + row * to.stride + at, from.first + row * from.stride + at, static_cast<std::size_t>(bytes));
    begin += bytes;
  }
}

}  // namespace

Link::Link(double bytesPerSecond, int threads) : bytesPerSecond_(bytesPerSecond), due_(Clock::now()), rested_(due_) {
  if (bytesPerSecond == 0)
    for (int helper = 1; helper < threads; ++helper) helpers_.push_back(std::make_unique<Worker>(1));
}

void checkLinkRate(double bytesPerSecond) {
  if (!std::isfinite(bytesPerSecond) || bytesPerSecond < 0 || (bytesPerSecond > 0 && bytesPerSecond < 1))
    throw Failure("a link moves at least 1 byte per second, or 0 for no limit, not " + std::to_string(bytesPerSecond));
}

bool Link::copy(const Rows& from, const Rows& to, std::int64_t rows, std::int64_t rowBytes, Progress& progress) {
  if (bytesPerSecond_ != 0) return copyPaced(from, to, rows, rowBytes, progress);
  const std::int64_t bytes = rows * rowBytes;
  const std::int64_t members = std::clamp<std::int64_t>(bytes / shareBytes, 1, static_cast<std::int64_t>(helpers_.size()) + 1);
  const auto copyShare = [=, &progress](std::int64_t member) {
    copyBytes(from, to, rowBytes, bytes * member / members, bytes * (member + 1) / members, progress);
  };
  std::vector<std::future<void>> shares;
  for (std::int64_t member = 1; member < members; ++member)
    shares.push_back(helpers_[static_cast<std::size_t>(member - 1)]->start([=] { copyShare(member); }));
  copyShare(0);
  for (std::future<void>& share : shares) share.get();
  return !progress.ended();
}

bool Link::copyPaced(const Rows& from, const Rows& to, std::int64_t rows, std::int64_t rowBytes, Progress& progress) {
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
  due_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(static_cast<double>(bytes) / bytesPerSecond_));
  const Clock::time_point now = Clock::now();
  due_ = std::max(due_, now - latest);
  return due_ <= now || progress.sleepUntil(due_);
}

}  // namespace tilefold
