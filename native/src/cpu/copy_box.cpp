#include "copy_box.hpp"

#include <cstring>

#include "parallel.hpp"
#include "vector_loops.hpp"

namespace tilefold::cpu {

template <class T>
Launch copyBox(const CopyBox& b) {
  constexpr std::int64_t longest = 16384;  // elements; longer rows are shared among threads
  const std::int64_t width = b.n[3], pieces = (width + longest - 1) / longest;
  const std::int64_t summands = sums(b) ? b.n[0] : 1, boxes = b.n[0] / summands;
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const T* source = elements<const T>(operands, 0);
    T* destination = elements<T>(operands, 1);
    parallelFor(boxes * b.n[1] * b.n[2] * pieces, [&](std::int64_t index) {
      const std::int64_t begin = index % pieces * longest, count = std::min(longest, width - begin), row = index / pieces;
      const std::int64_t i = row / b.n[2] / b.n[1], j = row / b.n[2] % b.n[1], k = row % b.n[2];
      const T* from = source + i * b.sourceStride[0] + j * b.sourceStride[1] + k * b.sourceStride[2] + begin;
      T* to = destination + i * b.destinationStride[0] + j * b.destinationStride[1] + k * b.destinationStride[2] + begin;
      if (b.add)
        for (std::int64_t summand = 0; summand < summands; ++summand) add(from + summand * b.sourceStride[0], to, count);
      else
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    });
  };
}

template Launch copyBox<float>(const CopyBox&);
template Launch copyBox<Bfloat16>(const CopyBox&);

}  // namespace tilefold::cpu
