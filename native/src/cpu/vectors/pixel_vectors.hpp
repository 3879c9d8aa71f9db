// A pixel's 8 or 16 channels as vectors of floats, for loops that treat all channels alike.
#pragma once
#include "lanes.hpp"

namespace tilefold::cpu {

// Channels in their order.
template <int Block, class T>
struct Pixel {
  using Vector = Lanes<Block>;
  static constexpr int vectors = 1, width = Block;
  TILEFOLD_INLINE static Pixel at(const T* address) { return {{Vector::at(address)}}; }
  TILEFOLD_INLINE void put(T* address) const { Vector::put(address, values[0]); }
  // Of numbers that T has, which rounding leaves as they are.
  TILEFOLD_INLINE void putExact(T* address) const { put(address); }
  TILEFOLD_INLINE static void putBytes(std::uint8_t* address, const typename Vector::Integers (&bytes)[vectors]) { Vector::put(address, bytes[0]); }
  TILEFOLD_INLINE static void bytesAt(const std::uint8_t* address, typename Vector::Integers (&bytes)[vectors]) { bytes[0] = Vector::at(address); }
  typename Vector::Floats values[vectors];
};

// The even channels in one vector and the odd ones in another, so that each is half of a word and
// nothing is shuffled.
template <>
struct Pixel<16, Bfloat16> {
  using Vector = Lanes<8>;
  static constexpr int vectors = 2, width = 8;
  TILEFOLD_INLINE static Pixel at(const Bfloat16* address) {
    typename Vector::Bits words;
    std::memcpy(&words, address, sizeof(words));
    return {{reinterpret_cast<Vector::Floats>(words << 16), reinterpret_cast<Vector::Floats>(words & 0xFFFF0000U)}};
  }
  TILEFOLD_INLINE void put(Bfloat16* address) const { Vector::putWords(address, values[0], values[1]); }
  TILEFOLD_INLINE void putExact(Bfloat16* address) const {
    const auto words = reinterpret_cast<Vector::Bits>(values[0]) >> 16 | reinterpret_cast<Vector::Bits>(values[1]);
    std::memcpy(static_cast<void*>(address), &words, sizeof(words));
  }
  TILEFOLD_INLINE static void putBytes(std::uint8_t* address, const Vector::Integers (&bytes)[vectors]) {
    const auto pairs = Halves<8>::narrowed(reinterpret_cast<Vector::Bits>(bytes[0] | bytes[1] << 8));
    std::memcpy(address, &pairs, sizeof(pairs));
  }
  TILEFOLD_INLINE static void bytesAt(const std::uint8_t* address, Vector::Integers (&bytes)[vectors]) {
    Halves<8>::Type pairs;
    std::memcpy(&pairs, address, sizeof(pairs));
    const auto wide = reinterpret_cast<Vector::Integers>(Halves<8>::widened(pairs));
    bytes[0] = wide & 0xFF;
    bytes[1] = wide >> 8;
  }
  Vector::Floats values[vectors];
};

}  // namespace tilefold::cpu
