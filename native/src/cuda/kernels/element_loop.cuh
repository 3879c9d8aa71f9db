// Kernels that visit elements one by one or in packs, in grids whose size is bounded.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <type_traits>

#include "../../kernels/bfloat16.hpp"
#include "../context/context.hpp"
#include "launch.cuh"

namespace tilefold::cuda {

constexpr int blockThreads = 256;
constexpr std::int64_t blocksPerMultiprocessor = 32;

template <class... Parameters, class... Arguments>
void launchKernel(const Context& context, const char* name, void (*kernel)(Parameters...), std::int64_t blocks, int threads,
                  const Arguments&... arguments) {
  launchGrid(context.compute, name, kernel, dim3(static_cast<unsigned>(blocks)), static_cast<unsigned>(threads), arguments...);
}

// Blocks that give every thread at least one of `count` items, while there are enough.
inline std::int64_t blocksFor(const Context& context, std::int64_t count) {
  return std::clamp<std::int64_t>((count + blockThreads - 1) / blockThreads, 1, context.multiprocessors * blocksPerMultiprocessor);
}

__device__ inline std::int64_t firstItem() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline std::int64_t itemStep() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

template <class Body>
__global__ void __launch_bounds__(blockThreads) visitItems(std::int64_t count, Body body) {
  for (std::int64_t i = firstItem(); i < count; i += itemStep()) body(i);
}

// body(i) for every i below `count`.
template <class Body>
void forEach(const Context& context, const char* name, std::int64_t count, const Body& body) {
  launchKernel(context, name, visitItems<Body>, blocksFor(context, count), blockThreads, count, body);
}

constexpr int packWidth = 4, packBytes = packWidth * sizeof(float);

// Elements as they lie next to each other in memory, in words of up to 16 bytes.
template <class T, int count>
struct alignas(std::min<std::size_t>(count * sizeof(T), packBytes)) Adjacent {
  T values[count];
};

// Stores `words` words at once each. nvcc splits an assignment of a struct, or of a word, into its
// elements where a loop surrounds it; an intrinsic stays whole.
template <class Word, int words, class Elements>
__device__ void storeWords(const Elements& elements, void* to) {
  Word stored[words];
  static_assert(sizeof(stored) == sizeof(elements), "elements fill their words");
  memcpy(stored, &elements, sizeof(elements));
  for (int i = 0; i < words; ++i) __stcg(static_cast<Word*>(to) + i, stored[i]);
}

// Elements that are read from or written to neighbouring places, of whatever type, by one access.
template <class T, int count>
struct Pack {
  static constexpr int width = count;
  T values[count];

  __device__ T& operator[](int i) { return values[i]; }
  __device__ const T& operator[](int i) const { return values[i]; }
  template <class Stored>
  __device__ void load(const Stored* from) {
    const auto elements = *reinterpret_cast<const Adjacent<Stored, count>*>(from);
    for (int i = 0; i < count; ++i) values[i] = static_cast<T>(elements.values[i]);
  }
  template <class Stored>
  __device__ void store(Stored* to) const {
    Adjacent<Stored, count> elements;
    for (int i = 0; i < count; ++i) elements.values[i] = static_cast<Stored>(values[i]);
    constexpr int bytes = static_cast<int>(sizeof(elements));
    if constexpr (bytes >= packBytes)
      storeWords<uint4, bytes / packBytes>(elements, to);
    else if constexpr (bytes == sizeof(uint2))
      storeWords<uint2, 1>(elements, to);
    else
      *reinterpret_cast<Adjacent<Stored, count>*>(to) = elements;
  }
};

// A pack as it was loaded: nothing waits for it before its values are asked for, and elements take
// no more registers than they have bytes.
template <class Stored, int count>
class Loaded {
 public:
  Loaded() = default;
  __device__ explicit Loaded(const Stored* from) {
    for (int i = 0; i < words; ++i) words_[i] = reinterpret_cast<const Word*>(from)[i];
  }
  // As they would be loaded once they were stored.
  __device__ explicit Loaded(const Pack<float, count>& values) {
    Stored elements[count];
    for (int i = 0; i < count; ++i) elements[i] = static_cast<Stored>(values[i]);
    memcpy(words_, elements, sizeof(elements));
  }
  __device__ Pack<float, count> values() const {
    Stored elements[count];
    memcpy(elements, words_, sizeof(elements));
    Pack<float, count> values;
    for (int i = 0; i < count; ++i) values[i] = static_cast<float>(elements[i]);
    return values;
  }

 private:
  static constexpr int bytes = count * static_cast<int>(sizeof(Stored));
  using Word = std::conditional_t<bytes % packBytes == 0, uint4,
                                  std::conditional_t<bytes == sizeof(uint2), uint2,
                                                     std::conditional_t<bytes == sizeof(std::uint32_t), std::uint32_t, Stored>>>;
  static constexpr int words = bytes / static_cast<int>(sizeof(Word));
  Word words_[words];
};

inline bool aligned(std::initializer_list<const void*> addresses, std::size_t bytes = packBytes) {
  return std::all_of(addresses.begin(), addresses.end(),
                     [bytes](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % bytes == 0; });
}

// Whole packs first, then the elements behind them one by one.
template <int width, class Body>
__device__ void visitPacks(std::int64_t packs, std::int64_t count, const Body& body) {
  for (std::int64_t i = firstItem(); i < packs; i += itemStep()) body(Pack<float, width>{}, i * width);
  for (std::int64_t i = packs * width + firstItem(); i < count; i += itemStep()) body(Pack<float, 1>{}, i);
}

template <int width, class Body>
__global__ void __launch_bounds__(blockThreads) visitPacksOf(std::int64_t packs, std::int64_t count, Body body) {
  visitPacks<width>(packs, count, body);
}

// body(pack, i) for packs that begin at element i and cover all `count` elements; `pack` is empty,
// its width what fills 16 bytes of type T as far as every address that it is loaded from or stored
// to allows (null ones do), else 1.
template <class T = float, class Body>
void forEachPack(const Context& context, const char* name, std::int64_t count, std::initializer_list<const void*> addresses,
                 const Body& body) {
  constexpr int width = packBytes / sizeof(T);
  const std::int64_t packs = aligned(addresses) ? count / width : 0;
  launchKernel(context, name, visitPacksOf<width, Body>, blocksFor(context, packs > 0 ? packs : count), blockThreads, packs, count, body);
}

}  // namespace tilefold::cuda
