// Planes whose every result is a weighted sum of operands, along rows and along columns: what is
// resized or averaged, and the gradients of both.
#pragma once
#include <vector>

#include "../../reference/block_loop.hpp"
#include "../processor/streaming.hpp"
#include "gather_loops.hpp"

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
      Terms terms{span.begin, span.count, weights, false};
      terms.repeats = !result.empty() && terms.equals(result.back());
      result.push_back(terms);
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
  const std::vector<ColumnRun> runs = columnRuns(columns);
  // Of rows that are alike the first ones.
  std::vector<std::int64_t> firsts;
  for (std::int64_t y = 0; y < to.height; ++y)
    if (!rows[static_cast<std::size_t>(y)].repeats) firsts.push_back(y);
  const auto distinct = static_cast<std::int64_t>(firsts.size());
  firsts.push_back(to.height);
  const std::int64_t width = to.width * planes.block;
  const std::int64_t pixels = planes.count * (from.height * from.width + to.height * to.width);
  const bool streams = pixels * planes.block * static_cast<std::int64_t>(sizeof(T)) >= leastStreamed;
  parallelStreams(planes.count * distinct, [&](std::int64_t job) {
    const std::int64_t plane = job / distinct, y = firsts[static_cast<std::size_t>(job % distinct)];
    const std::int64_t alike = firsts[static_cast<std::size_t>(job % distinct + 1)] - y;
    const T* of = operand + plane * from.height * from.width * planes.block;
    gatherRows<T>({of, from.width, rows[static_cast<std::size_t>(y)], columns.data(), runs, alike, to.width, streams},
                  result + (plane * to.height + y) * width, planes.block);
  });
}

}  // namespace tilefold::cpu
