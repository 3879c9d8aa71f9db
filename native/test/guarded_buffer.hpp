// Random operands for kernels that no sanitizer sees into.
#pragma once
#include <sys/mman.h>

#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <random>

#include "../src/device.hpp"

namespace tilefold::guarded {

inline std::mt19937_64& generator() {
  static std::mt19937_64 seeded;
  return seeded;
}

inline std::int64_t draw(std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(generator());
}
template <class T>
T pick(std::initializer_list<T> choices) {
  return *(choices.begin() + draw(0, static_cast<std::int64_t>(choices.size()) - 1));
}

// Memory that ends (within 64 bytes) at an inaccessible page: oneDNN's kernels are compiled at run
// time, out of a sanitizer's sight.
inline std::shared_ptr<void> guardedMemory(std::size_t bytes) {
  const std::size_t page = 4096, pages = (bytes + page - 1) / page * page;
  void* mapped = mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  std::byte* guard = static_cast<std::byte*>(mapped) + pages;
  if (mprotect(guard, page, PROT_NONE) != 0) throw std::bad_alloc();
  return {guard - (bytes + 63) / 64 * 64, [mapped, pages](void*) { munmap(mapped, pages + page); }};
}

// Floats at an address that is a multiple of 64 bytes, and not one byte more than asked for.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes = 0)
      : bytes_(bytes),
        memory_(draw(0, 1) == 0 ? guardedMemory(bytes) : std::shared_ptr<void>(std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free)) {
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) data()[i] = std::numeric_limits<float>::quiet_NaN();
  }
  float* data() const { return static_cast<float*>(memory_.get()); }
  std::size_t size() const { return bytes_ / sizeof(float); }
  Operand operand() const { return {bytes_ == 0 ? nullptr : static_cast<std::byte*>(memory_.get()), 0}; }

 private:
  std::size_t bytes_;
  std::shared_ptr<void> memory_;
};

inline Buffer copyOf(const Buffer& other) {
  Buffer result(other.size() * sizeof(float));
  std::copy(other.data(), other.data() + other.size(), result.data());
  return result;
}

inline Buffer random(std::int64_t count) {
  Buffer buffer(static_cast<std::size_t>(count) * sizeof(float));
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer.data()[i] = normal(generator());
  return buffer;
}

}  // namespace tilefold::guarded
