// The random draws of dropout: one an element, whatever tile it is computed in.
#pragma once
#include <cmath>
#include <cstdint>

namespace tilefold {

// Counter-based: SplitMix64 (Steele, Lea, Flood 2014) over a hash of seed, step and layer. Of 64
// bits or vectors of them.
class ElementDraw {
 public:
  ElementDraw(std::uint64_t seed, std::uint64_t step, std::uint64_t layerKey) : key_(mixed(mixed(mixed(seed) + step) + layerKey)) {}

  // The whole numbers below this are draws.
  static constexpr double range = 0x1p53;
  // An element is kept where its draw is no less: draw / range >= rate.
  static std::uint64_t threshold(double rate) { return static_cast<std::uint64_t>(std::ceil(rate * range)); }

  // What the counters of consecutive elements are apart.
  static constexpr std::uint64_t step = 0x9E3779B97F4A7C15u;
  std::uint64_t counter(std::uint64_t element) const { return key_ + element * step; }

  template <class Bits>
  __attribute__((always_inline)) static Bits drawn(const Bits& counter) {
    return mixed(counter) >> 11;
  }

 private:
  template <class Bits>
  __attribute__((always_inline)) static Bits mixed(Bits z) {
    z += step;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint64_t key_;
};

}  // namespace tilefold
