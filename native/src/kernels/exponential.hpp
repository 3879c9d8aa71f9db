// e^x of floats without a branch, a table or a call, so that loops over it become vectors in every
// instruction set, whichever C library there is.
#pragma once
#include <cstdint>
#include <cstring>

#include "host_device.hpp"

namespace tilefold {

// 2^exponent where that is a normal number.
TILEFOLD_HOST_DEVICE_INLINE float powerOfTwo(std::int32_t exponent) {
  const std::uint32_t bits = static_cast<std::uint32_t>(exponent + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof(power));
  return power;
}

// Within 2 units in the last place. Infinite above 88.72, denormal and then 0 below -87.33; NaN
// stays.
TILEFOLD_HOST_DEVICE_INLINE float exponential(float x) {
  // x = whole ln 2 + rest, with |rest| <= ln 2 / 2. Beyond these bounds e^x is infinite or 0.
  const float most = x > 89.0F ? 89.0F : x;
  const float bounded = most < -104.0F ? -104.0F : most;
  // A float of this size has no fraction, so the sum is rounded to a whole number: its lowest bits.
  constexpr float roundsToWhole = 12582912.0F;
  const float sum = bounded * 1.44269504F + roundsToWhole;
  const float whole = sum - roundsToWhole;
  std::int32_t exponent;
  std::memcpy(&exponent, &sum, sizeof(exponent));
  exponent -= 0x4B400000;
  // ln 2 in two parts; the first has few bits, so that its product is exact.
  const float rest = bounded - whole * 0.693359375F - whole * -2.12194440e-4F;
  // The polynomial of least relative error for (e^rest - 1 - rest) / rest^2.
  const float curve =
      0.49999994F + rest * (0.16666521F + rest * (0.041668389F + rest * (0.0083687454F + rest * 0.0013814539F)));
  const float power = 1 + (rest + rest * rest * curve);
  // By 2^exponent in two steps: one would leave the range of normal numbers.
  const std::int32_t half = exponent >> 1;
  return power * powerOfTwo(half) * powerOfTwo(exponent - half);
}

}  // namespace tilefold
