// Max pooling, plain or nhwc. Indices lie as the outputs do: a byte, the winner's place in its
// window, ky * kernelWidth + kx, or int32, its pixel, where windows are large; -1 where one sees
// only padding. Semantics: reference/pooling.cpp.
#include <cmath>

#include "activation.cuh"
#include "compiled.hpp"
#include "element_loop.cuh"
#include "families.hpp"
#include "max_pool.hpp"
#include "window_axis.cuh"

namespace tilefold::cuda {
namespace {

template <int n>
struct Best {
  Pack<float, n> values;
  Pack<std::int32_t, n> indices;

  __device__ Best() {
    for (int k = 0; k < n; ++k) {
      values[k] = -INFINITY;
      indices[k] = -1;
    }
  }
  // The first of equals wins, a NaN always.
  __device__ void offer(int k, float value, std::int64_t index) {
    if (!(value > values[k] || indices[k] < 0 || (value != value && values[k] == values[k]))) return;
    values[k] = value;
    indices[k] = static_cast<std::int32_t>(index);
  }
  template <class T, class Index>
  __device__ void store(T* destination, Index* at) const {
    values.store(destination);
    indices.store(at);
  }
};

template <int n, class T, class Index>
void forwardOf(const Context& context, const Pool& p, const T* source, T* destination, Index* indices) {
  const Activation in(p.layout, p.inChannels / n, p.inHeight, p.inWidth), out(p.layout, p.inChannels / n, p.outHeight, p.outWidth);
  const WindowAxis rowAxis = WindowAxis::rows(p), columnAxis = WindowAxis::columns(p);
  const std::int64_t width = p.inWidth, places = p.kernelWidth;
  forEach(context, "maxPoolForward", p.batch * (p.inChannels / n) * p.outHeight * p.outWidth, [=] __device__(std::int64_t i) {
    const Place at = out.place(i);
    const std::int64_t plane = in.plane(at.image, at.channel), pixelStride = in.pixelStride();
    const std::int64_t top = rowAxis.start(at.row), left = columnAxis.start(at.column);
    const Range rows = rowAxis.inside(top), columns = columnAxis.inside(left);
    Best<n> best;
    for (std::int64_t ky = rows.from; ky < rows.to; ++ky) {
      for (std::int64_t kx = columns.from; kx < columns.to; ++kx) {
        const std::int64_t pixel = (top + ky * rowAxis.dilation()) * width + left + kx * columnAxis.dilation();
        Pack<float, n> values;
        values.load(source + (plane + pixel * pixelStride) * n);
        for (int k = 0; k < n; ++k) best.offer(k, values[k], isPlace<Index> ? ky * places + kx : pixel);
      }
    }
    best.store(destination + i * n, indices + i * n);
  });
}

// n outputs of a row at once. Windows tile the input, so row r of all outputs lies below rows 2 r
// and 2 r + 1 of all inputs.
template <int n, class T, class Index>
void forwardPairs(const Context& context, const Pool& p, const T* source, T* destination, Index* indices) {
  const Divisor byColumns(p.outWidth / n);
  const std::int64_t width = p.inWidth;
  forEach(context, "maxPoolForward", p.batch * p.inChannels * p.outHeight * (p.outWidth / n), [=] __device__(std::int64_t i) {
    const Division place = byColumns(i);
    const T* from = source + 2 * place.quotient * width + 2 * n * place.remainder;
    Pack<float, 2 * n> above, below;
    above.load(from);
    below.load(from + width);
    Best<n> best;
    for (int k = 0; k < n; ++k) {
      best.offer(k, above[2 * k], 0);
      best.offer(k, above[2 * k + 1], 1);
      best.offer(k, below[2 * k], 2);
      best.offer(k, below[2 * k + 1], 3);
    }
    best.store(destination + i * n, indices + i * n);
  });
}

template <class T, class Index>
void maxPoolForward(const Context& context, const Pool& p, const T* source, T* destination, Index* indices) {
  constexpr int width = packBytes / sizeof(T);
  const bool packs = aligned({source, destination, indices});
  if (tilesInput(p) && !channelsLast(p) && packs && p.outWidth % 2 == 0)
    forwardPairs<2>(context, p, source, destination, indices);
  else if (channelsLast(p) && packs && p.inChannels % width == 0)
    forwardOf<width>(context, p, source, destination, indices);
  else
    forwardOf<1>(context, p, source, destination, indices);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileMaxPool(const Kernel& kernel, const Context& context) {
  if (kernel.kind != KernelKind::maxPoolForward && kernel.kind != KernelKind::maxPoolBackward) return nullptr;
  using A = Arguments;
  const auto p = tiled<Pool>(kernel);
  maxPoolIndicesBytes(p);  // refuses what no index can tell
  if (kernel.kind == KernelKind::maxPoolBackward)
    return compiledWaiting(context, kernel,
                           [p](const A& a) { maxPoolBackward<T>(a.context, p, a.at<T>(0), a.at<void>(1), a.at<T>(2), {}); });
  if (hasByteIndices(p))
    return compiled(context, [p](const A& a) { maxPoolForward<T>(a.context, p, a.at<T>(0), a.at<T>(1), a.at<std::uint8_t>(2)); });
  return compiled(context, [p](const A& a) { maxPoolForward<T>(a.context, p, a.at<T>(0), a.at<T>(1), a.at<std::int32_t>(2)); });
}
TILEFOLD_COMPILES(compileMaxPool)

}  // namespace tilefold::cuda
