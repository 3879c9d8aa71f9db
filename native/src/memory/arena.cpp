#include "arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "available_memory.hpp"
#include "../failure.hpp"
#include "pattern.hpp"

namespace tilefold {
namespace {

constexpr std::byte surrounding{0xA7};
// Of the arena's first byte: a cache line, and a vector register.
constexpr std::size_t arenaAlignment = 64;

std::size_t roundedUp(std::size_t bytes, std::size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

void requireAvailable(std::size_t bytes, const std::string& name, const std::string& budget) {
  const std::optional<AvailableMemory> available = availableMemory();
  if (available && bytes > available->bytes)
    throw NoMemory("the " + name + " of " + std::to_string(bytes) + " bytes is larger than the " + std::to_string(available->bytes) +
                   " bytes of memory that are " + available->bound + ": give a " + budget + ", or a smaller one");
}

Arena::Arena(std::size_t bytes, const std::string& name, const std::string& budget) : bytes_(bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t rounded = roundedUp(bytes, page);
  requireAvailable(rounded, name, budget);
  accessible_ = rounded;
  mapped_ = rounded + page;
  void* mapping = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    throw NoMemory("the " + name + " of " + std::to_string(bytes) + " bytes could not be mapped (" + std::strerror(errno) +
                   "): give a " + budget + ", or a smaller one");
  mapping_ = static_cast<std::byte*>(mapping);
  if (mprotect(mapping_ + rounded, page, PROT_NONE) != 0) {
    const std::string reason = std::strerror(errno);
    munmap(mapping_, mapped_);
    throw Failure("the page behind the " + name + " could not be protected (" + reason + ")");
  }
#ifdef MADV_HUGEPAGE
  // Pages of 2 MiB are faulted in and translated faster. A system that has none goes on without.
  static_cast<void>(madvise(mapping_, rounded, MADV_HUGEPAGE));
#endif
  data_ = mapping_ + (rounded - roundedUp(bytes, arenaAlignment));
  std::fill(mapping_, data_, surrounding);
  std::fill(data_ + bytes_, mapping_ + accessible_, surrounding);
  fillPattern(data_, bytes_);
}

Arena::~Arena() { munmap(mapping_, mapped_); }

bool Arena::surroundingsIntact() const {
  const auto untouched = [](std::byte byte) { return byte == surrounding; };
  return std::all_of(mapping_, data_, untouched) && std::all_of(data_ + bytes_, mapping_ + accessible_, untouched);
}

std::size_t Arena::highestChangedByte() const { return highestChange(data_, bytes_); }

}  // namespace tilefold
