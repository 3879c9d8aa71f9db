#include "average_pool.hpp"

#include "../kernels/average_window.hpp"
#include "gather.hpp"

namespace tilefold::cpu {
namespace {

AxisTerms ofOutputs(const AverageAxis& axis) {
  AxisTerms terms;
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const AverageWindow window = axis.window(o);
    terms.append(window.from, window.to, [&](std::int64_t) { return window.share(); });
  }
  return terms;
}

// An input is in the windows of outputs that follow each other.
AxisTerms ofInputs(const AverageAxis& axis) {
  AxisTerms terms;
  for (std::int64_t i = 0; i < axis.in; ++i) {
    const std::int64_t padded = i + axis.padBefore;
    const std::int64_t first = std::max<std::int64_t>(0, (padded - axis.kernel + axis.stride) / axis.stride);
    const std::int64_t end = std::max(first, std::min(axis.out, padded / axis.stride + 1));
    terms.append(first, end, [&](std::int64_t o) { return axis.window(o).share(); });
  }
  return terms;
}

}  // namespace

template <class T>
Launch averagePoolForward(const AveragePool& p) {
  const reference::Planes planes(p.layout, p.batch, p.inChannels);
  return [=, rows = ofOutputs(averageRows(p)), columns = ofOutputs(averageColumns(p))](const std::vector<Operand>& operands,
                                                                                     const StepParameters&) {
    gather(planes, rows, columns, {p.inHeight, p.inWidth}, {p.outHeight, p.outWidth}, elements<const T>(operands, 0), elements<T>(operands, 1));
  };
}

template <class T>
Launch averagePoolBackward(const AveragePool& p) {
  const reference::Planes planes(p.layout, p.batch, p.inChannels);
  return [=, rows = ofInputs(averageRows(p)), columns = ofInputs(averageColumns(p))](const std::vector<Operand>& operands,
                                                                                   const StepParameters&) {
    gather(planes, rows, columns, {p.outHeight, p.outWidth}, {p.inHeight, p.inWidth}, elements<const T>(operands, 0), elements<T>(operands, 1));
  };
}

template Launch averagePoolForward<float>(const AveragePool&);
template Launch averagePoolForward<Bfloat16>(const AveragePool&);
template Launch averagePoolBackward<float>(const AveragePool&);
template Launch averagePoolBackward<Bfloat16>(const AveragePool&);

}  // namespace tilefold::cpu
