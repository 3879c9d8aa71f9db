// Events by eventfd, which Linux alone has.
#pragma once
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "../failure.hpp"

namespace tilefold::addon {

// What is counted in it wakes whoever polls.
class Event {
 public:
  Event() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_ < 0) throw Failure(std::string("an eventfd could not be made (") + std::strerror(errno) + ")");
  }
  ~Event() { close(descriptor_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  int descriptor() const { return descriptor_; }
  void add() const { add(descriptor_); }
  // For signal handlers too.
  static void add(int descriptor) {
    const std::uint64_t one = 1;
    // Full only after 2^64 - 2 of them.
    [[maybe_unused]] const ssize_t written = write(descriptor, &one, sizeof one);
  }
  // How many were added since the last call.
  std::uint64_t take() const {
    std::uint64_t count = 0;
    return read(descriptor_, &count, sizeof count) == sizeof count ? count : 0;
  }

 private:
  int descriptor_;
};

}  // namespace tilefold::addon
