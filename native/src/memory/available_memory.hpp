// How much memory this process may still take.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace tilefold {

// Bytes that can still be taken, and what bounds them, for a sentence: "free", "left by the limit
// of memory cgroups".
struct AvailableMemory {
  std::size_t bytes;
  std::string bound;
};

// The least of what the machine has free, what memory cgroups (versions 1 and 2, up to the root)
// leave, and what the limits of addresses and data (ulimit -v, ulimit -d) leave. Nothing where the
// system says none of them. `root` is where /proc and /sys are.
std::optional<AvailableMemory> availableMemory(const std::filesystem::path& root = "/");

}  // namespace tilefold
