// Element by element: rectifiers, sums and dropout.
#pragma once
#include <cstdint>

#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"

namespace tilefold::reference {

// Source and destination may coincide.
template <class T>
void rectifierForward(const Rectifier& r, const T* source, T* destination);
// Either gradient may be the other.
template <class T>
void rectifierBackward(const Rectifier& r, const T* destination, const T* destinationGradient, T* sourceGradient);

// The destination may be either operand.
template <class T>
void addForward(const Rectifier& r, const T* first, const T* second, T* destination);

// Where a tile lies in its tensor.
struct TileOrigin {
  std::int64_t batch = 0, row = 0, column = 0;
};

// Keeps an element when its own draw says so, whatever tile it is computed in. Source and
// destination may coincide.
template <class T>
void dropout(const Dropout& d, const TileOrigin& origin, std::uint64_t seed, std::uint64_t step, const T* source, T* destination);

// The counter-based draw in [0, 1) of one element: SplitMix64 (Steele, Lea, Flood 2014) over a hash
// of seed, step and layer.
class ElementDraw {
 public:
  ElementDraw(std::uint64_t seed, std::uint64_t step, std::uint64_t layerKey) : key_(mix(mix(mix(seed) + step) + layerKey)) {}
  double operator()(std::uint64_t element) const { return static_cast<double>(mix(key_ + element * 0x9E3779B97F4A7C15u) >> 11) * 0x1p-53; }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint64_t key_;
};

}  // namespace tilefold::reference
