#include "copy_box.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "../processor/parallel.hpp"
#include "../vectors/vector_loops.hpp"

namespace tilefold::cpu {
namespace {

// Adds `count` elements of each of some rows to one; of bf16 the sum is float32, and rounded once.
template <class T>
void addRows(const T* rows, std::int64_t stride, std::int64_t summands, T* to, std::int64_t count) {
  if constexpr (std::is_same_v<T, ParameterOf<T>>) {
    for (std::int64_t summand = 0; summand < summands; ++summand) add(rows + summand * stride, to, count);
  } else {
    constexpr std::int64_t most = 1024;
    std::array<ParameterOf<T>, most> sum, row;
    for (std::int64_t begin = 0; begin < count; begin += most) {
      const std::int64_t some = std::min(most, count - begin);
      convert(to + begin, sum.data(), some);
      for (std::int64_t summand = 0; summand < summands; ++summand) {
        convert(rows + summand * stride + begin, row.data(), some);
        add(row.data(), sum.data(), some);
      }
      convert(sum.data(), to + begin, some);
    }
  }
}

}  // namespace

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
        addRows(from, b.sourceStride[0], summands, to, count);
      else
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
    });
  };
}

template Launch copyBox<float>(const CopyBox&);
template Launch copyBox<Bfloat16>(const CopyBox&);

}  // namespace tilefold::cpu
