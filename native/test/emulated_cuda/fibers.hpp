// Fibers: calls that stop and go on later, each on a stack of its own. Of x86-64; AddressSanitizer
// is told of each switch.
#pragma once
#include <cstddef>
#include <memory>

namespace tilefold::emulated {

// Where a fiber, or whoever resumes fibers, stopped.
struct Stopped {
  void* stackPointer = nullptr;
  void* fakeStack = nullptr;  // of AddressSanitizer
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};

class Fiber {
 public:
  // Calls `body`, which never returns, when it is resumed first.
  explicit Fiber(void (*body)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Goes on with the fiber until it stops.
  void resume();
  // Of the fiber that runs: back to who resumed it.
  static void stop();
  // Stops the fiber that runs and goes on with another, which then stops for who resumed the first.
  static void passTo(Fiber& other);
  static Fiber* running();

 private:
  static void enter();

  void (*body_)();
  std::byte* memory_;
  Stopped own_;
};

}  // namespace tilefold::emulated
