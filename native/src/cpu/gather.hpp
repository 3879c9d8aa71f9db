// Planes whose every result is a weighted sum of operands, along rows and along columns: what is
// resized or averaged, and the gradients of both.
#pragma once
#include <vector>

#include "../reference/block_loop.hpp"
#include "parallel.hpp"
#include "pixel_loops.hpp"

namespace tilefold::cpu {

// The terms of every result of an axis, with their weights one after the other.
class AxisTerms {
 public:
  // Of the next result: weight(i) of the operands begin .. end - 1.
  template <class Weight>
  void append(std::int64_t begin, std::int64_t end, const Weight& weight) {
    spans_.push_back({begin, end - begin});
    for (std::int64_t i = begin; i < end; ++i) weights_.push_back(static_cast<float>(weight(i)));
  }

  std::vector<Terms> all() const {
    std::vector<Terms> result;
    result.reserve(spans_.size());
    const float* weights = weights_.data();
    for (const Span& span : spans_) {
      result.push_back({span.begin, span.count, weights});
      weights += span.count;
    }
    return result;
  }

 private:
  struct Span {
    std::int64_t begin, count;
  };
  std::vector<Span> spans_;
  std::vector<float> weights_;
};

struct PlaneExtents {
  std::int64_t height, width;
};

template <class T>
void gather(const reference::Planes& planes, const AxisTerms& rowTerms, const AxisTerms& columnTerms, const PlaneExtents& from,
            const PlaneExtents& to, const T* operand, T* result) {
  const std::vector<Terms> rows = rowTerms.all(), columns = columnTerms.all();
  parallelFor(planes.count * to.height, [&](std::int64_t job) {
    const std::int64_t plane = job / to.height, y = job % to.height;
    gatherRow<T>({operand + plane * from.height * from.width * planes.block, from.width, rows[static_cast<std::size_t>(y)], columns.data(),
                  to.width},
                 result + job * to.width * planes.block, planes.block);
  });
}

}  // namespace tilefold::cpu
