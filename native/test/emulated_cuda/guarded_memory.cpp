#include "guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "../address_sanitizer.hpp"

namespace tilefold::emulated {
namespace {

constexpr std::byte surrounding{0xA7};
constexpr std::size_t alignment = 256;

std::size_t pageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
std::size_t guardBytes() { return 16 * pageBytes(); }

// A file in memory, of bytes that make no number that anyone could take for one.
constexpr std::size_t noNumbersBytes = std::size_t{16} << 20;
int noNumbers() {
  static const int file = [] {
    const int created = memfd_create("no numbers", MFD_CLOEXEC);
    const std::vector<char> bytes(noNumbersBytes, '\xFF');
    if (created == -1 || write(created, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
    return created;
  }();
  return file;
}

// Whole pages of such bytes at an address that is reserved. What nobody touches takes no time.
bool mapNoNumbers(std::byte* first, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += noNumbersBytes)
    if (mmap(first + done, std::min(noNumbersBytes, bytes - done), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, noNumbers(), 0) == MAP_FAILED)
      return false;
  return true;
}

std::size_t roundedUp(std::size_t bytes, std::size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

// From `first` on pages that may be touched, of which [memory, memory + bytes) are given away;
// before and behind them lie pages that may not.
struct Block {
  std::byte *first, *memory;
  std::size_t pages, bytes;
};

std::mutex access;
std::map<void*, Block> blocks;

}  // namespace

void* takeGuarded(std::size_t bytes) {
  const std::size_t pages = roundedUp(std::max<std::size_t>(bytes, 1), pageBytes()), guard = guardBytes();
  void* const mapped = mmap(nullptr, pages + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  std::byte* const first = static_cast<std::byte*>(mapped) + guard;
  if (!mapNoNumbers(first, pages)) {
    munmap(mapped, pages + 2 * guard);
    return nullptr;
  }
  std::byte* const memory = first + pages - roundedUp(bytes, alignment);
  std::fill(first, memory, surrounding);
  std::fill(memory + bytes, first + pages, surrounding);
  ASAN_POISON_MEMORY_REGION(first, static_cast<std::size_t>(memory - first));
  ASAN_POISON_MEMORY_REGION(memory + bytes, static_cast<std::size_t>(first + pages - memory) - bytes);
  const std::lock_guard<std::mutex> lock(access);
  blocks[memory] = {first, memory, pages, bytes};
  return memory;
}

void giveBackGuarded(void* memory) {
  if (memory == nullptr) return;
  const std::lock_guard<std::mutex> lock(access);
  const auto found = blocks.find(memory);
  if (found == blocks.end()) std::abort();
  const Block block = found->second;
  blocks.erase(found);
  ASAN_UNPOISON_MEMORY_REGION(block.first, block.pages);
  const auto untouched = [](std::byte byte) { return byte == surrounding; };
  if (!std::all_of(block.first, block.memory, untouched) ||
      !std::all_of(block.memory + block.bytes, block.first + block.pages, untouched)) {
    std::fprintf(stderr, "emulated CUDA: something was written beside memory of %zu bytes\n", block.bytes);
    std::abort();
  }
  munmap(block.first - guardBytes(), block.pages + 2 * guardBytes());
}

}  // namespace tilefold::emulated
