// e^x of floats of all sizes against that of doubles.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

#include "kernels/exponential.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

constexpr std::uint64_t step = 4093;  // of the 2^32 floats; a prime
constexpr double largest = std::numeric_limits<float>::max(), smallestNormal = std::numeric_limits<float>::min();

bool isRight(float x, float found) {
  const double expected = std::exp(static_cast<double>(x));
  if (std::isnan(x)) return std::isnan(found);
  if (expected > largest) return std::isinf(found);
  const double unit = std::ldexp(1.0, std::max(std::ilogb(expected), -126) - 23);
  return std::fabs(static_cast<double>(found) - expected) <= (expected < smallestNormal ? 1 : 2) * unit;
}

}  // namespace

int checkExponential() {
  int failures = 0;
  for (std::uint64_t pattern = 0; pattern <= 0xFFFFFFFFU; pattern += step) {
    const auto bits = static_cast<std::uint32_t>(pattern);
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    const float found = exponential(x);
    if (isRight(x, found)) continue;
    if (++failures <= 3) std::printf("exponential(%.9g) is %.9g\n", static_cast<double>(x), static_cast<double>(found));
  }
  const float infinity = std::numeric_limits<float>::infinity();
  if (exponential(infinity) != infinity || exponential(-infinity) != 0 || exponential(0.0F) != 1) {
    std::printf("exponential of an infinity or 0 is not exact\n");
    ++failures;
  }
  return failures;
}

}  // namespace tilefold::test
