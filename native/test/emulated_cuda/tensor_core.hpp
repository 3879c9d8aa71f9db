// The precisions of the emulated libraries' products.
#pragma once
#include <cstdint>
#include <cstring>

namespace tilefold::emulated {

// To the nearest number with the 10 bits of mantissa that TF32 has.
inline float tf32(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7F800000U) == 0x7F800000U) return value;  // infinite or no number
  bits = (bits + 0x1000U) & ~0x1FFFU;
  std::memcpy(&value, &bits, sizeof(bits));
  return value;
}

}  // namespace tilefold::emulated
