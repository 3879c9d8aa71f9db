#include "resampling.hpp"

#include "gather.hpp"

namespace tilefold::cpu {
namespace {

AxisTerms ofOutputs(const ResampledAxis& axis) {
  AxisTerms terms;
  for (const Reading& r : axis.readings()) terms.append(r.from, r.to, [&](std::int64_t i) { return r.weight(i); });
  return terms;
}

AxisTerms ofInputs(const ResampledAxis& axis) {
  AxisTerms terms;
  const ResampledAxis::Transposed transposed = axis.transposed();
  for (std::int64_t i = 0; i < axis.in; ++i) {
    const ResampledAxis::Readers readers = transposed.readers[static_cast<std::size_t>(i)];
    terms.append(readers.begin, readers.end,
                 [&](std::int64_t o) { return transposed.readings[static_cast<std::size_t>(o)].weight(i); });
  }
  return terms;
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
    gather(planes, ofOutputs(rowsOf(r, kind, at)), ofOutputs(columnsOf(r, kind, at)), {r.inHeight, r.inWidth},
           {r.outHeight, r.outWidth}, elements<const T>(operands, 0), elements<T>(operands, 1));
  };
}

template <class T>
Launch resampleBackward(const Resampled& r, Resampling kind) {
  const reference::Planes planes(r.layout, r.batch, r.channels);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const ResampledAt at = placeOf(operands);
    gather(planes, ofInputs(rowsOf(r, kind, at)), ofInputs(columnsOf(r, kind, at)), {r.outHeight, r.outWidth},
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
