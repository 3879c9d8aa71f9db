// Vectors of floats at any float's address, for loops of processor.hpp.
#pragma once
#include <cstdint>
#include <cstring>

#include "processor.hpp"

#if !defined(__clang__) && __GNUC__ < 12
// All that returns a vector is inlined.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace tilefold::cpu {

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
};

// destination[i] = rectified(decides(i), value(i), slope), as ../rectifier.hpp: in two loops, since
// a choice within one would cost vectors.
template <class Decides, class Value>
TILEFOLD_INLINE void rectifyEach(std::int64_t count, float slope, const Decides& decides, const Value& value, float* destination) {
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

}  // namespace tilefold::cpu
