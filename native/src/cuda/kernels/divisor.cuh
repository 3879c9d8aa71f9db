// Division by a number that stays the same for a whole launch: a multiplication and a shift
// (Granlund, Montgomery 1994).
#pragma once
#include <cstdint>

namespace tilefold::cuda {

struct Division {
  std::int64_t quotient, remainder;
};

// Of dividends from 0 to 2^63 - 1.
class Divisor {
 public:
  // With 2^(shift - 1) < divisor <= 2^shift, multiplier = floor(2^(63 + shift) / divisor) + 1 is
  // off by too little to change a quotient.
  explicit Divisor(std::int64_t divisor) : divisor_(divisor) {
    while ((std::uint64_t{1} << shift_) < static_cast<std::uint64_t>(divisor)) ++shift_;
    multiplier_ = static_cast<std::uint64_t>((Wide{1} << (63 + shift_)) / static_cast<std::uint64_t>(divisor)) + 1;
  }

  __host__ __device__ Division operator()(std::int64_t dividend) const {
    const auto high = static_cast<std::uint64_t>((Wide{static_cast<std::uint64_t>(dividend) << 1} * multiplier_) >> 64);
    const auto quotient = static_cast<std::int64_t>(high >> shift_);
    return {quotient, dividend - quotient * divisor_};
  }

 private:
  using Wide = unsigned __int128;
  std::int64_t divisor_;
  std::uint64_t multiplier_ = 0;
  int shift_ = 0;
};

}  // namespace tilefold::cuda
