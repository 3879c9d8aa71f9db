#include "pattern.hpp"

#include <cstdint>
#include <cstring>

namespace tilefold {
namespace {

constexpr std::size_t wordBytes = sizeof(std::uint64_t);

// Every word differs, so that even a copy between untouched places shows.
std::uint64_t pattern(std::size_t word) { return (static_cast<std::uint64_t>(word) + 1) * 0x9E3779B97F4A7C15u; }

}  // namespace

void fillPattern(std::byte* memory, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += wordBytes) {
    const std::uint64_t word = pattern(at / wordBytes);
    std::memcpy(memory + at, &word, bytes - at < wordBytes ? bytes - at : wordBytes);
  }
}

std::size_t highestChange(const std::byte* memory, std::size_t bytes) {
  for (std::size_t at = (bytes + wordBytes - 1) / wordBytes * wordBytes; at > 0; at -= wordBytes) {
    const std::size_t start = at - wordBytes, length = bytes - start < wordBytes ? bytes - start : wordBytes;
    const std::uint64_t expected = pattern(start / wordBytes);
    if (std::memcmp(memory + start, &expected, length) == 0) continue;
    std::byte word[wordBytes];
    std::memcpy(word, &expected, wordBytes);
    for (std::size_t i = length; i > 0; --i)
      if (memory[start + i - 1] != word[i - 1]) return start + i;
  }
  return 0;
}

}  // namespace tilefold
