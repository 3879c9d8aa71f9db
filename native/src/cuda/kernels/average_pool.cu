// Average pooling, plain or nhwc. Semantics: reference/pooling.cpp.
#include "activation.cuh"
#include "compiled.hpp"
#include "element_loop.cuh"
#include "families.hpp"
#include "window_axis.cuh"

namespace tilefold::cuda {
namespace {

// The part of a window that lies inside the input, and its share of what the sum is divided by.
struct Part {
  std::int64_t from, to;
  double size;
};

struct AverageAxis {
  WindowAxis window;
  std::int64_t in, kernel, countedPadAfter;
  bool countPadding;

  __device__ Part part(std::int64_t output) const {
    const std::int64_t start = window.start(output), end = start + kernel;
    const std::int64_t from = start > 0 ? start : 0, to = end < in ? end : in,
                       counted = end < in + countedPadAfter ? end : in + countedPadAfter;
    const std::int64_t size = countPadding ? counted - start : to > from ? to - from : 0;
    return {from, to, static_cast<double>(size)};
  }
};

AverageAxis rowsOf(const AveragePool& p) {
  return {WindowAxis::rows(p), p.inHeight, p.kernelHeight, p.padBottom - p.overhangBottom, p.countPadding};
}

AverageAxis columnsOf(const AveragePool& p) {
  return {WindowAxis::columns(p), p.inWidth, p.kernelWidth, p.padRight - p.overhangRight, p.countPadding};
}

__device__ double share(const Part& rows, const Part& columns) {
  const double size = rows.size * columns.size;
  return size > 0 ? 1.0 / size : 0.0;
}

template <int n, class T>
void forwardOf(const Context& context, const AveragePool& p, const T* source, T* destination) {
  const Activation in(p.layout, p.inChannels / n, p.inHeight, p.inWidth), out(p.layout, p.inChannels / n, p.outHeight, p.outWidth);
  const AverageAxis rowAxis = rowsOf(p), columnAxis = columnsOf(p);
  const std::int64_t width = p.inWidth;
  forEach(context, "averagePoolForward", p.batch * (p.inChannels / n) * p.outHeight * p.outWidth, [=] __device__(std::int64_t i) {
    const Place at = out.place(i);
    const std::int64_t plane = in.plane(at.image, at.channel), pixelStride = in.pixelStride();
    const Part rows = rowAxis.part(at.row), columns = columnAxis.part(at.column);
    double sums[n] = {};
    for (std::int64_t row = rows.from; row < rows.to; ++row) {
      for (std::int64_t column = columns.from; column < columns.to; ++column) {
        Pack<float, n> values;
        values.load(source + (plane + (row * width + column) * pixelStride) * n);
        for (int k = 0; k < n; ++k) sums[k] += static_cast<double>(values[k]);
      }
    }
    const double scale = share(rows, columns);
    Pack<float, n> means;
    for (int k = 0; k < n; ++k) means[k] = static_cast<float>(sums[k] * scale);
    means.store(destination + i * n);
  });
}

template <int n, class T>
void backwardOf(const Context& context, const AveragePool& p, const T* destinationGradient, T* sourceGradient) {
  const Activation in(p.layout, p.inChannels / n, p.inHeight, p.inWidth), out(p.layout, p.inChannels / n, p.outHeight, p.outWidth);
  const AverageAxis rowAxis = rowsOf(p), columnAxis = columnsOf(p);
  const std::int64_t width = p.outWidth;
  forEach(context, "averagePoolBackward", p.batch * (p.inChannels / n) * p.inHeight * p.inWidth, [=] __device__(std::int64_t i) {
    const Place at = in.place(i);
    const std::int64_t plane = out.plane(at.image, at.channel), pixelStride = out.pixelStride();
    const Range rows = rowAxis.window.over(at.row), columns = columnAxis.window.over(at.column);
    Pack<float, n> sum{};
    for (std::int64_t y = rows.from; y < rows.to; ++y) {
      for (std::int64_t x = columns.from; x < columns.to; ++x) {
        const float scale = static_cast<float>(share(rowAxis.part(y), columnAxis.part(x)));
        Pack<float, n> gradient;
        gradient.load(destinationGradient + (plane + (y * width + x) * pixelStride) * n);
        for (int k = 0; k < n; ++k) sum[k] += scale * gradient[k];
      }
    }
    sum.store(sourceGradient + i * n);
  });
}

bool inPacks(const AveragePool& p, const void* a, const void* b) {
  return p.layout == Layout::nhwc && p.inChannels % packWidth == 0 && aligned({a, b});
}

template <class T>
void averagePoolForward(const Context& context, const AveragePool& p, const T* source, T* destination) {
  if (inPacks(p, source, destination))
    forwardOf<packWidth>(context, p, source, destination);
  else
    forwardOf<1>(context, p, source, destination);
}

// Every input pixel gathers from the windows over it.
template <class T>
void averagePoolBackward(const Context& context, const AveragePool& p, const T* destinationGradient, T* sourceGradient) {
  if (inPacks(p, destinationGradient, sourceGradient))
    backwardOf<packWidth>(context, p, destinationGradient, sourceGradient);
  else
    backwardOf<1>(context, p, destinationGradient, sourceGradient);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileAveragePool(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::averagePoolForward:
      return compiled(context,
                      [p = tiled<AveragePool>(kernel)](const A& a) { averagePoolForward<T>(a.context, p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::averagePoolBackward:
      return compiled(context,
                      [p = tiled<AveragePool>(kernel)](const A& a) { averagePoolBackward<T>(a.context, p, a.at<T>(0), a.at<T>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileAveragePool)

}  // namespace tilefold::cuda
