// Vectors of floats at any float's address, or bf16's, for loops of processor.hpp.
#pragma once
#include <cstdint>
#include <cstring>

#include "../../kernels/bfloat16.hpp"
#include "../processor/processor.hpp"

namespace tilefold::cpu {

// Between 8 or 16 bits and 32, in steps of twice the bits: GCC takes others element by element.
// (GCC 12 converts no vector whose type a template has yet to name.)
template <int Block>
struct Halves;
#define TILEFOLD_HALVES(Block)                                                                                     \
  template <>                                                                                                      \
  struct Halves<Block> {                                                                                           \
    typedef std::uint16_t Type __attribute__((vector_size(Block * sizeof(std::uint16_t))));                        \
    typedef std::uint32_t Wide __attribute__((vector_size(Block * sizeof(std::uint32_t))));                        \
    typedef std::uint8_t Bytes __attribute__((vector_size(Block)));                                                \
    TILEFOLD_INLINE static Wide widened(const Type& halves) { return __builtin_convertvector(halves, Wide); }      \
    TILEFOLD_INLINE static Wide widened(const Bytes& bytes) { return widened(__builtin_convertvector(bytes, Type)); } \
    TILEFOLD_INLINE static Bytes lowBytes(const Wide& wide) { return __builtin_convertvector(narrowed(wide), Bytes); } \
    TILEFOLD_INLINE static Type narrowed(const Wide& wide) { return __builtin_convertvector(wide, Type); }         \
  };
TILEFOLD_HALVES(4)
TILEFOLD_HALVES(8)
TILEFOLD_HALVES(16)
#undef TILEFOLD_HALVES

// Vectors of `Block` floats; the compiler splits them where registers are narrower.
template <int Block>
struct Lanes {
  typedef float Floats __attribute__((vector_size(Block * sizeof(float))));
  typedef std::int32_t Integers __attribute__((vector_size(Block * sizeof(std::int32_t))));
#if defined(__clang__) || __GNUC__ < 12
  // These forget `aligned(4)` at a reference, and take the address for one of the vector's full
  // alignment.
  typedef float Type __attribute__((vector_size(Block * sizeof(float))));
  TILEFOLD_INLINE static Type at(const float* address) {
    Type value;
    std::memcpy(&value, address, sizeof(value));
    return value;
  }
  TILEFOLD_INLINE static void put(float* address, const Type& value) { std::memcpy(address, &value, sizeof(value)); }
#else
  // `aligned(4)`: any float's address will do.
  typedef float Type __attribute__((vector_size(Block * sizeof(float)), aligned(4), may_alias));
  TILEFOLD_INLINE static const Type& at(const float* address) { return *reinterpret_cast<const Type*>(address); }
  TILEFOLD_INLINE static void put(float* address, const Type& value) { *reinterpret_cast<Type*>(address) = value; }
#endif
  using Bits = typename Halves<Block>::Wide;
  TILEFOLD_INLINE static Integers at(const std::uint8_t* address) {
    typename Halves<Block>::Bytes bytes;
    std::memcpy(&bytes, address, sizeof(bytes));
    return reinterpret_cast<Integers>(Halves<Block>::widened(bytes));
  }
  TILEFOLD_INLINE static void put(std::uint8_t* address, const Integers& value) {
    const typename Halves<Block>::Bytes bytes = Halves<Block>::lowBytes(reinterpret_cast<Bits>(value));
    std::memcpy(address, &bytes, sizeof(bytes));
  }
  TILEFOLD_INLINE static Floats at(const Bfloat16* address) {
    typename Halves<Block>::Type halves;
    std::memcpy(&halves, address, sizeof(halves));
    return reinterpret_cast<Floats>(Halves<Block>::widened(halves) << 16);
  }
  // As Bfloat16 rounds; the lower half of each is what is left over.
  TILEFOLD_INLINE static Bits rounded(const Type& value) {
    const Bits bits = reinterpret_cast<Bits>(value), up = bits + (0x7FFFU + (bits >> 16 & 1U));
    return value == value ? up : bits | 0x400000U;
  }
  // Two numbers of bf16 a word, `low` in the lower halves, at any bf16's address.
  TILEFOLD_INLINE static void putWords(Bfloat16* address, const Type& low, const Type& high) {
    const Bits words = rounded(low) >> 16 | (rounded(high) & 0xFFFF0000U);
    std::memcpy(static_cast<void*>(address), &words, sizeof(words));
  }
  TILEFOLD_INLINE static void put(Bfloat16* address, const Type& value) {
    const typename Halves<Block>::Type halves = Halves<Block>::narrowed(rounded(value) >> 16);
    std::memcpy(static_cast<void*>(address), &halves, sizeof(halves));
  }
};

// destination[i] = rectified(decides(i), value(i), slope), as ../kernels/rectifier.hpp: in two
// loops, since a choice within one would cost vectors.
template <class T, class Decides, class Value>
TILEFOLD_INLINE void rectifyEach(std::int64_t count, float slope, const Decides& decides, const Value& value, T* destination) {
  if (slope == 0) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const float kept = value(i);
      destination[i] = decides(i) <= 0 ? 0.0F : kept;
    }
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const float kept = value(i), scaled = slope * kept;
      destination[i] = decides(i) > 0 ? kept : scaled;
    }
  }
}

// Adds each of a vector's floats to a sum of its own.
template <int Block>
TILEFOLD_INLINE void addLanes(const typename Lanes<Block>::Type& sum, double* lanes) {
  for (int lane = 0; lane < Block; ++lane) lanes[lane] += static_cast<double>(sum[lane]);
}

}  // namespace tilefold::cpu
