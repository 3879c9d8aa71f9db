// The instructions of src/cuda/convolution/warpgroup.cuh in plain loops. Products are computed when
// they are waited for, so that operands that changed too early are seen.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "../../src/kernels/bfloat16.hpp"
#include "blocks.hpp"

namespace tilefold::cuda {

constexpr unsigned emulatedWarpgroup = 128, mostThreads = 1024;

// What no thread of the block has written is no number; all ask for it before their first barrier.
inline std::byte* dynamicShared() {
  alignas(1024) static std::byte memory[227 * 1024];
  if (threadIdx.x == 0) std::memset(memory, 0xFF, sizeof(memory));
  return memory;
}

inline int warpgroup() { return static_cast<int>(threadIdx.x / emulatedWarpgroup); }

class StageBarrier {
 public:
  void initialise(int arrivals) { *this = {arrivals}; }
  void arrive() {
    if (++arrived_ < arrivals_) return;
    arrived_ = 0;
    ++opened_;
  }
  // A phase is waited for until the next one has opened, so parity tells which.
  void wait(unsigned parity) const {
    emulated::await([&] { return opened_ % 2 != parity; });
  }

  StageBarrier(int arrivals = 0) : arrivals_(arrivals) {}

 private:
  int arrivals_, arrived_ = 0;
  unsigned opened_ = 0;
};

// Copies of every other thread arrive when they are waited for, the others at once: what reads too
// early is seen, and what is written too early.
struct EmulatedCopy {
  void* to;
  const void* from;  // null where nothing is present
};
inline void arrive(const EmulatedCopy& copy) {
  if (copy.from == nullptr)
    std::memset(copy.to, 0, 16);
  else
    std::memcpy(copy.to, copy.from, 16);
}
// By groups, the last of which is open.
inline std::vector<std::vector<EmulatedCopy>>& copiesOf(unsigned thread) {
  static std::vector<std::vector<EmulatedCopy>> of[mostThreads];
  if (of[thread].empty()) of[thread].emplace_back();
  return of[thread];
}
inline void copyPack(void* to, const void* from, bool present) {
  const EmulatedCopy copy{to, present ? from : nullptr};
  if (threadIdx.x % 2 == 0)
    arrive(copy);
  else
    copiesOf(threadIdx.x).back().push_back(copy);
}
inline void closeCopies() { copiesOf(threadIdx.x).emplace_back(); }
template <int later>
void awaitCopies() {
  std::vector<std::vector<EmulatedCopy>>& groups = copiesOf(threadIdx.x);
  while (groups.size() > later + 1) {
    for (const EmulatedCopy& copy : groups.front()) arrive(copy);
    groups.erase(groups.begin());
  }
}
inline void seeWritten() {}
template <int>
void takeRegisters() {}
template <int>
void leaveRegisters() {}

inline void loadLeftSide(std::uint32_t (&left)[4], const Bfloat16* channels, int pitch) {
  const unsigned lane = threadIdx.x % 32;
  for (unsigned k = 0; k < 4; ++k) {
    const Bfloat16* const from = channels + (k / 2 * 8 + lane % 4 * 2) * static_cast<unsigned>(pitch) + k % 2 * 8 + lane / 4;
    const Bfloat16 two[]{from[0], from[pitch]};
    std::memcpy(&left[k], two, sizeof(two));
  }
}

struct EmulatedProduct {
  void (*add)(unsigned place);
  float* sums;
  std::uint32_t left[4];
  const std::byte* tile;
  int product;
};
struct EmulatedProducts {
  std::vector<EmulatedProduct> running;
  std::vector<std::size_t> groups;  // ends of those that are closed
};
inline EmulatedProducts& productsOf(unsigned thread) {
  static EmulatedProducts of[mostThreads];
  return of[thread];
}

// Until all threads of the warpgroup have come here.
inline void meetWarpgroup() {
  static unsigned arrived[mostThreads / emulatedWarpgroup];
  unsigned& own = arrived[threadIdx.x / emulatedWarpgroup];
  const unsigned round = own++ / emulatedWarpgroup;
  emulated::await([&] { return own / emulatedWarpgroup != round; });
}

template <class T>
T* computedHere(T* pointer) {
  return pointer;
}

inline void beginProducts() {}

using RightSide = const std::byte*;
inline RightSide rightSide(const std::byte* tile) { return tile; }

// As products take it.
inline Bfloat16 taken(Bfloat16 value) { return value; }
inline float taken(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  bits &= ~0x1FFFU;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

template <class T>
T elementOfTile(const std::byte* tile, int row, int column) {
  const int bytes = column * static_cast<int>(sizeof(T));
  T value{};
  std::memcpy(&value, tile + row * 128 + ((bytes / 16 ^ row % 8) * 16) + bytes % 16, sizeof(T));
  return value;
}

// Of one thread: rows of its left side are spread over the four threads of a row.
template <class T>
void addEmulated(unsigned place) {
  constexpr unsigned depth = 32 / sizeof(T), ofWord = 4 / sizeof(T);
  const EmulatedProduct& own = productsOf(threadIdx.x).running[place];
  const unsigned lane = threadIdx.x % 4;
  for (unsigned i = 0; i < 32; ++i) {
    const int column = static_cast<int>(i / 4 * 8 + lane * 2 + i % 2);
    double sum = static_cast<double>(own.sums[i]);
    for (unsigned k = 0; k < depth; ++k) {
      const std::uint32_t word = productsOf(threadIdx.x - lane + k / ofWord % 4).running[place].left[k / (4 * ofWord) * 2 + i / 2 % 2];
      T left{};
      std::memcpy(&left, reinterpret_cast<const std::byte*>(&word) + k % ofWord * sizeof(T), sizeof(T));
      const int at = own.product * static_cast<int>(depth) + static_cast<int>(k);
      const T right = std::is_same_v<T, float> ? elementOfTile<T>(own.tile, column, at) : elementOfTile<T>(own.tile, at, column);
      sum += static_cast<double>(static_cast<float>(taken(left))) * static_cast<double>(static_cast<float>(taken(right)));
    }
    own.sums[i] = static_cast<float>(sum);
  }
}

template <class T>
void addProduct(float (&sums)[32], const std::uint32_t (&left)[4], RightSide tile, int product) {
  productsOf(threadIdx.x).running.push_back({addEmulated<T>, sums, {left[0], left[1], left[2], left[3]}, tile, product});
}

inline void closeProducts() {
  EmulatedProducts& own = productsOf(threadIdx.x);
  own.groups.push_back(own.running.size());
}

template <int later>
void awaitProducts() {
  EmulatedProducts &own = productsOf(threadIdx.x), &first = productsOf(threadIdx.x / emulatedWarpgroup * emulatedWarpgroup);
  meetWarpgroup();
  if (own.groups != first.groups) throw std::runtime_error("the threads of a warpgroup ask for different products");
  const std::size_t closed = own.groups.size(), groups = closed > later ? closed - later : 0, ended = groups == 0 ? 0 : own.groups[groups - 1];
  for (std::size_t place = 0; place < ended; ++place) own.running[place].add(static_cast<unsigned>(place));
  meetWarpgroup();
  own.running.erase(own.running.begin(), own.running.begin() + static_cast<std::ptrdiff_t>(ended));
  own.groups.erase(own.groups.begin(), own.groups.begin() + static_cast<std::ptrdiff_t>(groups));
  for (std::size_t& end : own.groups) end -= ended;
}

}  // namespace tilefold::cuda
