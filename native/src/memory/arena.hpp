// The device's memory, or the host pool: exactly the bytes asked for, with an inaccessible page
// right behind them.
#pragma once
#include <cstddef>
#include <string>

namespace tilefold {

// Throws NoMemory, naming what wants them and the budget that they come from, where so many bytes
// are not free.
void requireAvailable(std::size_t bytes, const std::string& name, const std::string& budget);

// Filled with a pattern, so that the highest byte that anything wrote can be found afterwards.
class Arena {
 public:
  // Throws NoMemory, naming it and the budget that it comes from, when the system has not that much
  // memory.
  explicit Arena(std::size_t bytes, const std::string& name = "arena", const std::string& budget = "budget");
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  // One past the highest byte that differs from the pattern (0: none does).
  std::size_t highestChangedByte() const;
  // Whether the bytes of its pages that are not its own, before and behind, are as they were.
  bool surroundingsIntact() const;

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapped_ = 0, accessible_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tilefold
