// bfloat16: the upper half of a float32, rounded to the nearest, ties to even (a double is rounded
// to float32 before). It is stored; arithmetic is in float32.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "host_device.hpp"

namespace tilefold {

class Bfloat16 {
 public:
  Bfloat16() = default;
  template <class Number, class = std::enable_if_t<std::is_arithmetic_v<Number>>>
  TILEFOLD_HOST_DEVICE explicit Bfloat16(Number value) : bits_(rounded(static_cast<float>(value))) {}
  TILEFOLD_HOST_DEVICE Bfloat16& operator=(float value) {
    bits_ = rounded(value);
    return *this;
  }
  TILEFOLD_HOST_DEVICE Bfloat16& operator+=(float value) { return *this = *this + value; }

  TILEFOLD_HOST_DEVICE operator float() const {
    const std::uint32_t wide = std::uint32_t{bits_} << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof value);
    return value;
  }

 private:
  TILEFOLD_HOST_DEVICE static std::uint16_t rounded(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint16_t bits = 0;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    std::uint32_t wide = 0;
    std::memcpy(&wide, &value, sizeof wide);
    // What is no number stays none: its payload may lie in the half that is lost.
    if ((wide & 0x7FFFFFFFU) > 0x7F800000U) return static_cast<std::uint16_t>(wide >> 16 | 0x40U);
    return static_cast<std::uint16_t>((wide + 0x7FFFU + (wide >> 16 & 1U)) >> 16);
#endif
  }

  std::uint16_t bits_ = 0;
};

// What parameters are beside activations of type T, and what is computed in.
template <class T>
struct ParameterOfActivation {
  using Type = T;
};
template <>
struct ParameterOfActivation<Bfloat16> {
  using Type = float;
};
template <class T>
using ParameterOf = typename ParameterOfActivation<T>::Type;

}  // namespace tilefold
