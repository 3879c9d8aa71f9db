// The precisions of the emulated libraries' tensors and products.
#pragma once
#include <cstdint>
#include <cstring>

#include "../../src/kernels/bfloat16.hpp"

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

// Elements of a tensor, stored as either library's DataType says.
template <class DataType>
float elementAt(const void* data, DataType type, std::size_t i) {
  if (type == DataType::bfloat16) return static_cast<const Bfloat16*>(data)[i];
  return static_cast<const float*>(data)[i];
}
template <class DataType>
void setElement(void* data, DataType type, std::size_t i, double value) {
  if (type == DataType::bfloat16)
    static_cast<Bfloat16*>(data)[i] = static_cast<Bfloat16>(value);
  else
    static_cast<float*>(data)[i] = static_cast<float>(value);
}

}  // namespace tilefold::emulated
