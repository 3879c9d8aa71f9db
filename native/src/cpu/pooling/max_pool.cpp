#include "max_pool.hpp"

#include "../../reference/block_loop.hpp"
#include "../../reference/pooling.hpp"
#include "../processor/parallel.hpp"
#include "../processor/streaming.hpp"
#include "max_pool_loops.hpp"

namespace tilefold::cpu {
namespace {

using reference::Planes;

// A winner is its place in the window, ky * kernelWidth + kx; this one (as maxPoolRow has it)
// stands for a window that sees only padding.
constexpr std::uint8_t nothing = 255;

bool fits(const Pool& p) {
  const bool blocked = p.layout != Layout::plain && p.layout != Layout::nhwc;
  return blocked && p.kernelHeight <= nothing && p.kernelHeight * p.kernelWidth <= nothing;
}

template <class T>
void forward(const Pool& p, const T* source, T* destination, std::uint8_t* indices) {
  const Planes planes(p.layout, p.batch, p.inChannels);
  const std::int64_t block = planes.block, row = p.outWidth * block;
  parallelFor(planes.count * p.outHeight, [&](std::int64_t job) {
    const std::int64_t plane = job / p.outHeight, y = job % p.outHeight, lanes = planes.lanes(plane);
    T* values = destination + job * row;
    maxPoolRow<T>({source + plane * p.inHeight * p.inWidth * block, y * p.strideHeight - p.padTop, rowsOf(p), columnsOf(p)}, values,
               indices + job * row, block);
    for (std::int64_t at = 0; lanes < block && at < row; at += block) std::fill(values + at + lanes, values + at + block, T(0.0F));
  });
}

// By rows of the input, each gathering from the windows that hold it: no two threads add to one
// element.
template <class T>
Launch backward(const Pool& p) {
  const Planes planes(p.layout, p.batch, p.inChannels);
  const WindowAxis axis = columnsOf(p);
  const bool disjoint = axis.stride == axis.kernel && axis.dilation == 1;
  return [=, rows = WindowsOfInputs(rowsOf(p)), columns = WindowsOfInputs(axis)](const std::vector<Operand>& operands,
                                                                                       const StepParameters&) {
    const T* received = elements<const T>(operands, 0);
    const auto* indices = elements<const std::uint8_t>(operands, 1);
    T* gradient = elements<T>(operands, 2);
    const std::int64_t read = planes.count * p.outHeight * p.outWidth * planes.block, written = planes.count * p.inHeight * p.inWidth * planes.block;
    const auto elementBytes = static_cast<std::int64_t>(sizeof(T));
    const bool streams = read * (elementBytes + 1) + written * elementBytes >= leastStreamed;
    parallelStreams(planes.count * p.inHeight, [&](std::int64_t job) {
      const std::int64_t plane = job / p.inHeight, row = job % p.inHeight, from = plane * p.outHeight * p.outWidth * planes.block;
      maxPoolGradientRow<T>({received + from, indices + from, p.outWidth, p.kernelWidth, rows.all().first(row), rows.all().end(row),
                             columns.all(), disjoint ? &axis : nullptr, streams},
                            gradient + job * p.inWidth * planes.block, planes.block);
    });
  };
}

template <class T>
Launch compileBlocked(KernelKind kind, const Pool& p) {
  if (kind == KernelKind::maxPoolForward)
    return [p](const std::vector<Operand>& operands, const StepParameters&) {
      forward(p, elements<const T>(operands, 0), elements<T>(operands, 1), elements<std::uint8_t>(operands, 2));
    };
  return backward<T>(p);
}

template <class T>
Launch compileReference(KernelKind kind, const Pool& p) {
  if (kind == KernelKind::maxPoolForward)
    return [p](const std::vector<Operand>& operands, const StepParameters&) {
      reference::maxPoolForward(p, elements<const T>(operands, 0), elements<T>(operands, 1), elements<std::int32_t>(operands, 2));
    };
  return [p](const std::vector<Operand>& operands, const StepParameters&) {
    reference::maxPoolBackward(p, elements<const T>(operands, 0), elements<const std::int32_t>(operands, 1), elements<T>(operands, 2));
  };
}

}  // namespace

std::size_t maxPoolIndicesBytes(const Pool& p) {
  if (!fits(p)) return reference::indicesBytes(p);
  return static_cast<std::size_t>(activationElements(p.layout, p.batch, p.inChannels, p.outHeight, p.outWidth));
}

template <class T>
Implementation compileMaxPool(KernelKind kind, const Pool& p) {
  if (!fits(p)) return {compileReference<T>(kind, p), "reference"};
  return {compileBlocked<T>(kind, p), "blocked loops"};
}

template Implementation compileMaxPool<float>(KernelKind, const Pool&);
template Implementation compileMaxPool<Bfloat16>(KernelKind, const Pool&);

}  // namespace tilefold::cpu
