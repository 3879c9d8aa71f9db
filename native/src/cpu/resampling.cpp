#include "resampling.hpp"

#include "../reference/block_loop.hpp"
#include "parallel.hpp"
#include "pixel_loops.hpp"

namespace tilefold::cpu {
namespace {

// The terms of every result of an axis, with their weights one after the other.
class AxisTerms {
 public:
  static AxisTerms ofOutputs(const ResampledAxis& axis) {
    AxisTerms terms;
    for (const Reading& r : axis.readings()) {
      terms.open(r.from, r.to - r.from);
      for (std::int64_t i = r.from; i < r.to; ++i) terms.weights_.push_back(static_cast<float>(r.weight(i)));
    }
    return terms;
  }
  static AxisTerms ofInputs(const ResampledAxis& axis) {
    AxisTerms terms;
    const ResampledAxis::Transposed transposed = axis.transposed();
    for (std::int64_t i = 0; i < axis.in; ++i) {
      const ResampledAxis::Readers readers = transposed.readers[static_cast<std::size_t>(i)];
      terms.open(readers.begin, readers.end - readers.begin);
      for (std::int64_t o = readers.begin; o < readers.end; ++o)
        terms.weights_.push_back(static_cast<float>(transposed.readings[static_cast<std::size_t>(o)].weight(i)));
    }
    return terms;
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
  void open(std::int64_t begin, std::int64_t count) { spans_.push_back({begin, count}); }

  std::vector<Span> spans_;
  std::vector<float> weights_;
};

struct Plane {
  std::int64_t height, width;
};

template <class T>
void gather(const reference::Planes& planes, const AxisTerms& rowTerms, const AxisTerms& columnTerms, const Plane& from, const Plane& to,
            const T* operand, T* result) {
  const std::vector<Terms> rows = rowTerms.all(), columns = columnTerms.all();
  parallelFor(planes.count * to.height, [&](std::int64_t job) {
    const std::int64_t plane = job / to.height, y = job % to.height;
    gatherRow<T>({operand + plane * from.height * from.width * planes.block, from.width, rows[static_cast<std::size_t>(y)], columns.data(),
               to.width},
              result + job * to.width * planes.block, planes.block);
  });
}

ResampledAt placeOf(const std::vector<Operand>& operands) {
  return {operands[2].index, operands[3].index, operands[4].index, operands[5].index};
}

}  // namespace

template <class T>
Launch resampleForward(const Resampled& r, Resampling kind) {
  const reference::Planes planes(r.layout, r.batch, r.channels);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const ResampledAt at = placeOf(operands);
    gather(planes, AxisTerms::ofOutputs(rowsOf(r, kind, at)), AxisTerms::ofOutputs(columnsOf(r, kind, at)), {r.inHeight, r.inWidth},
           {r.outHeight, r.outWidth}, elements<const T>(operands, 0), elements<T>(operands, 1));
  };
}

template <class T>
Launch resampleBackward(const Resampled& r, Resampling kind) {
  const reference::Planes planes(r.layout, r.batch, r.channels);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const ResampledAt at = placeOf(operands);
    gather(planes, AxisTerms::ofInputs(rowsOf(r, kind, at)), AxisTerms::ofInputs(columnsOf(r, kind, at)), {r.outHeight, r.outWidth},
           {r.inHeight, r.inWidth}, elements<const T>(operands, 0), elements<T>(operands, 1));
  };
}

#define TILEFOLD_INSTANTIATE(T)                                          \
  template Launch resampleForward<T>(const Resampled&, Resampling);      \
  template Launch resampleBackward<T>(const Resampled&, Resampling);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
