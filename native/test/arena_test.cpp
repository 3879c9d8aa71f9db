// The arena ends at its guard page, and its pattern shows the highest byte that was written.
#include "memory/arena.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "memory/paged_arena.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

// Whether a process that writes at `offset` dies of it.
template <class Memory>
bool dies(const Memory& arena, std::size_t offset) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would report it
    *const_cast<volatile std::byte*>(arena.data() + offset) = std::byte{1};
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

int checkPagedArena() {
  int failures = 0;
  const auto expect = [&](bool truth, const char* what) {
    if (truth) return;
    ++failures;
    std::printf("arena of pages: %s\n", what);
  };
  const std::size_t page = 4096;
  // Memory of a resident page and two more, with a rest that is no whole page, behind five pages of
  // addresses.
  PagedArena arena({page, 5 * page, page}, 3 * page + 100);
  std::byte* const bytes = arena.data();
  arena.map(2 * page, page, 2 * page);
  expect(arena.highestChangedByte() == 0, "is changed from the start");
  bytes[2 * page] = ~bytes[2 * page];
  const std::byte written = bytes[2 * page];
  expect(arena.highestChangedByte() == 2 * page, "does not show the highest page that changed");
  // A process that lives leaves a byte in the memory, which is shared.
  expect(!dies(arena, 0) && !dies(arena, page - 1), "residents cannot be written");
  expect(dies(arena, page) && dies(arena, 5 * page - 1) && dies(arena, 5 * page), "can be written where nothing is mapped");
  expect(!dies(arena, 2 * page + 1) && !dies(arena, 4 * page - 1), "what is mapped cannot be written");
  expect(dies(arena, 2 * page - 1) && dies(arena, 4 * page), "can be written beside what is mapped");
  arena.unmap(2 * page, 2 * page);
  expect(dies(arena, 2 * page), "can be written after it was unmapped");
  arena.map(page, page, page);
  expect(bytes[page] == written, "does not hold at another address what was written to its memory");
  arena.reset();
  expect(dies(arena, page) && !dies(arena, 0), "is not as in the beginning after a reset");
  arena.reset();
  return failures;
}

}  // namespace

int checkArena() {
  int failures = checkPagedArena();
  const auto expect = [&](bool truth, const char* what, std::size_t bytes) {
    if (truth) return;
    ++failures;
    std::printf("arena of %zu bytes: %s\n", bytes, what);
  };
  for (const std::size_t bytes : {std::size_t{2}, std::size_t{63}, std::size_t{64}, std::size_t{4096}, std::size_t{100001}}) {
    Arena arena(bytes);
    expect(reinterpret_cast<std::uintptr_t>(arena.data()) % 64 == 0, "is not aligned", bytes);
    expect(arena.highestChangedByte() == 0, "is changed from the start", bytes);
    expect(arena.surroundingsIntact(), "has changed surroundings from the start", bytes);
    if (bytes % 64 != 0) {
      arena.data()[bytes] = ~arena.data()[bytes];
      expect(!arena.surroundingsIntact(), "does not show that its surroundings changed", bytes);
    }
    const std::size_t rounded = (bytes + 63) / 64 * 64;
    expect(!dies(arena, bytes - 1), "has a last byte that cannot be written", bytes);
    expect(dies(arena, rounded), "can be written beyond its end", bytes);
    for (const std::size_t at : {bytes / 3, bytes - 1}) {
      arena.data()[at] = ~arena.data()[at];
      expect(arena.highestChangedByte() == at + 1, "does not show the highest changed byte", bytes);
    }
  }
  std::printf("arena: %d failures\n", failures);
  return failures;
}

}  // namespace tilefold::test
