#include "copy_box.hpp"

#include <cstring>

#include "parallel.hpp"
#include "vector_loops.hpp"

namespace tilefold::cpu {

Launch copyBox(const CopyBox& b) {
  constexpr std::int64_t longest = 16384;  // elements; longer rows are shared among threads
  const std::int64_t width = b.extents[3], pieces = (width + longest - 1) / longest;
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const float* source = elements<const float>(operands, 0);
    float* destination = elements(operands, 1);
    parallelFor(b.extents[0] * b.extents[1] * b.extents[2] * pieces, [&](std::int64_t index) {
      const std::int64_t begin = index % pieces * longest, count = std::min(longest, width - begin), row = index / pieces;
      const std::int64_t i = row / b.extents[2] / b.extents[1], j = row / b.extents[2] % b.extents[1], k = row % b.extents[2];
      const float* from = source + i * b.sourceStrides[0] + j * b.sourceStrides[1] + k * b.sourceStrides[2] + begin;
      float* to = destination + i * b.destinationStrides[0] + j * b.destinationStrides[1] + k * b.destinationStrides[2] + begin;
      if (b.add)
        add(from, to, count);
      else
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(float));
    });
  };
}

}  // namespace tilefold::cpu
