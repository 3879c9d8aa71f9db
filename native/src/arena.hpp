// The device's memory: exactly the bytes asked for, with an inaccessible page right behind them.
#pragma once
#include <cstddef>

namespace tilefold {

// Filled with a pattern, so that the highest byte that anything wrote can be found afterwards.
class Arena {
 public:
  // Throws Failure with the figures when the system has not that much memory.
  explicit Arena(std::size_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // One past the highest byte that differs from the pattern (0: none does).
  std::size_t highestChangedByte() const;

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tilefold
