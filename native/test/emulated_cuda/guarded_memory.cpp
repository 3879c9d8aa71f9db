#include "guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "../address_sanitizer.hpp"

namespace tilefold::emulated {
namespace {

constexpr std::byte surrounding{0xA7};
constexpr std::size_t alignment = 256;

std::size_t pageBytes() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
std::size_t guardBytes() { return 16 * pageBytes(); }

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
  if (mprotect(first, pages, PROT_READ | PROT_WRITE) != 0) {
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
