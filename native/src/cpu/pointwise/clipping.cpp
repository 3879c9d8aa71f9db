#include "clipping.hpp"

#include <numeric>

#include "../processor/parallel.hpp"
#include "../vectors/vector_loops.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t grain = 16384;  // elements

}  // namespace

Launch sumSquares(const Count& s) {
  return [s](const std::vector<Operand>& operands, const StepParameters&) {
    const float* source = elements<const float>(operands, 0);
    std::vector<double> sums(static_cast<std::size_t>((s.count + grain - 1) / grain));
    parallelRanges(s.count, grain, [&](std::int64_t begin, std::int64_t end) {
      sums[static_cast<std::size_t>(begin / grain)] = squares(source + begin, end - begin);
    });
    *elements<double>(operands, 1) += std::accumulate(sums.begin(), sums.end(), 0.0);
  };
}

Launch clipGradient(const ClipGradient& c) {
  return [c](const std::vector<Operand>& operands, const StepParameters&) {
    const float scale = static_cast<float>(clippingScale(c, *elements<const double>(operands, 0)));
    if (scale == 1) return;
    float* gradient = elements(operands, 1);
    parallelRanges(c.count, grain,
                   [&](std::int64_t begin, std::int64_t end) { multiply(scale, gradient + begin, gradient + begin, end - begin); });
  };
}

}  // namespace tilefold::cpu
