// Max pooling, plain or nhwc; indices (int32) lie as the outputs do. Semantics:
// reference/pooling.cpp.
#include <cmath>

#include "../reference/pooling.hpp"
#include "activation.cuh"
#include "compiled.hpp"
#include "element_loop.cuh"
#include "families.hpp"
#include "fault.cuh"
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
  __device__ void offer(int k, float value, std::int64_t pixel) {
    if (!(value > values[k] || indices[k] < 0 || (value != value && values[k] == values[k]))) return;
    values[k] = value;
    indices[k] = static_cast<std::int32_t>(pixel);
  }
  template <class T>
  __device__ void store(T* destination, std::int32_t* at) const {
    values.store(destination);
    indices.store(at);
  }
};

// Windows of 2 x 2 that neither overlap nor leave anything of the input out.
bool tilesInput(const Pool& p) {
  return p.kernelHeight == 2 && p.kernelWidth == 2 && p.strideHeight == 2 && p.strideWidth == 2 && p.dilationHeight == 1 &&
         p.dilationWidth == 1 && p.padTop == 0 && p.padLeft == 0 && p.inHeight == 2 * p.outHeight && p.inWidth == 2 * p.outWidth;
}

bool channelsLast(const Pool& p) { return p.layout == Layout::nhwc && p.inChannels > 1; }

template <int n, class T>
void forwardOf(const Context& context, const Pool& p, const T* source, T* destination, std::int32_t* indices) {
  const Activation in(p.layout, p.inChannels / n, p.inHeight, p.inWidth), out(p.layout, p.inChannels / n, p.outHeight, p.outWidth);
  const WindowAxis rowAxis = WindowAxis::rows(p), columnAxis = WindowAxis::columns(p);
  const std::int64_t width = p.inWidth;
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
        for (int k = 0; k < n; ++k) best.offer(k, values[k], pixel);
      }
    }
    best.store(destination + i * n, indices + i * n);
  });
}

// n outputs of a row at once. Windows tile the input, so row r of all outputs lies below rows 2 r
// and 2 r + 1 of all inputs.
template <int n, class T>
void forwardPairs(const Context& context, const Pool& p, const T* source, T* destination, std::int32_t* indices) {
  const Divisor byColumns(p.outWidth / n), byRows(p.outHeight);
  const std::int64_t width = p.inWidth;
  forEach(context, "maxPoolForward", p.batch * p.inChannels * p.outHeight * (p.outWidth / n), [=] __device__(std::int64_t i) {
    const Division place = byColumns(i);
    const std::int64_t column = 2 * n * place.remainder, pixel = 2 * byRows(place.quotient).remainder * width + column;
    const T* from = source + 2 * place.quotient * width + column;
    Pack<float, 2 * n> above, below;
    above.load(from);
    below.load(from + width);
    Best<n> best;
    for (int k = 0; k < n; ++k) {
      best.offer(k, above[2 * k], pixel + 2 * k);
      best.offer(k, above[2 * k + 1], pixel + 2 * k + 1);
      best.offer(k, below[2 * k], pixel + width + 2 * k);
      best.offer(k, below[2 * k + 1], pixel + width + 2 * k + 1);
    }
    best.store(destination + i * n, indices + i * n);
  });
}

// What flows back to a pixel: the gradient where it won. Winners that are no pixel of the plane are
// a fault.
template <int n>
struct Won {
  Pack<float, n> gradient;
  Pack<std::int32_t, n> indices;

  template <class T>
  __device__ Won(const T* destinationGradient, const std::int32_t* at, std::int64_t pixels, Fault* fault) {
    gradient.load(destinationGradient);
    indices.load(at);
    bool wild = false;
    for (int k = 0; k < n; ++k) wild = wild || indices[k] >= pixels;
    if (wild) recordFault(fault, {static_cast<std::int32_t>(FaultKind::indices), 0, 0, 0, 0, 0});
  }
  __device__ float at(int k, std::int64_t pixel) const { return indices[k] == pixel ? gradient[k] : 0.0F; }
};

template <int n, class T>
void backwardOf(const Context& context, const Pool& p, const T* destinationGradient, const std::int32_t* indices, T* sourceGradient) {
  const Activation in(p.layout, p.inChannels / n, p.inHeight, p.inWidth), out(p.layout, p.inChannels / n, p.outHeight, p.outWidth);
  const WindowAxis rowAxis = WindowAxis::rows(p), columnAxis = WindowAxis::columns(p);
  const std::int64_t inWidth = p.inWidth, outWidth = p.outWidth, pixels = p.inHeight * p.inWidth;
  Fault* fault = context.fault;
  forEach(context, "maxPoolBackward", p.batch * (p.inChannels / n) * pixels, [=] __device__(std::int64_t i) {
    const Place at = in.place(i);
    const std::int64_t plane = out.plane(at.image, at.channel), pixelStride = out.pixelStride(), pixel = at.row * inWidth + at.column;
    const Range rows = rowAxis.over(at.row), columns = columnAxis.over(at.column);
    Pack<float, n> sum{};
    for (std::int64_t y = rows.from; y < rows.to; ++y) {
      for (std::int64_t x = columns.from; x < columns.to; ++x) {
        const std::int64_t from = (plane + (y * outWidth + x) * pixelStride) * n;
        const Won<n> won(destinationGradient + from, indices + from, pixels, fault);
        for (int k = 0; k < n; ++k)
          if (won.indices[k] == pixel) sum[k] += won.gradient[k];
      }
    }
    sum.store(sourceGradient + i * n);
  });
}

template <int n, class T>
void backwardPairs(const Context& context, const Pool& p, const T* destinationGradient, const std::int32_t* indices, T* sourceGradient) {
  const Divisor byColumns(p.outWidth / n), byRows(p.outHeight);
  const std::int64_t width = p.inWidth, pixels = p.inHeight * p.inWidth;
  Fault* fault = context.fault;
  forEach(context, "maxPoolBackward", p.batch * p.inChannels * p.outHeight * (p.outWidth / n), [=] __device__(std::int64_t i) {
    const Division place = byColumns(i);
    const std::int64_t column = 2 * n * place.remainder, pixel = 2 * byRows(place.quotient).remainder * width + column;
    const Won<n> won(destinationGradient + i * n, indices + i * n, pixels, fault);
    Pack<float, 2 * n> above, below;
    for (int k = 0; k < 2 * n; ++k) {
      above[k] = won.at(k / 2, pixel + k);
      below[k] = won.at(k / 2, pixel + width + k);
    }
    T* to = sourceGradient + 2 * place.quotient * width + column;
    above.store(to);
    below.store(to + width);
  });
}

// One output pixel, n of its channels.
template <int n, class T>
void backwardSquares(const Context& context, const Pool& p, const T* destinationGradient, const std::int32_t* indices,
                     T* sourceGradient) {
  const Activation in(p.layout, p.inChannels / n, p.inHeight, p.inWidth), out(p.layout, p.inChannels / n, p.outHeight, p.outWidth);
  const std::int64_t width = p.inWidth, pixels = p.inHeight * p.inWidth;
  Fault* fault = context.fault;
  forEach(context, "maxPoolBackward", p.batch * (p.inChannels / n) * p.outHeight * p.outWidth, [=] __device__(std::int64_t i) {
    const Place at = out.place(i);
    const std::int64_t plane = in.plane(at.image, at.channel), pixelStride = in.pixelStride();
    const Won<n> won(destinationGradient + i * n, indices + i * n, pixels, fault);
    for (int corner = 0; corner < 4; ++corner) {
      const std::int64_t pixel = (2 * at.row + corner / 2) * width + 2 * at.column + corner % 2;
      Pack<float, n> values;
      for (int k = 0; k < n; ++k) values[k] = won.at(k, pixel);
      values.store(sourceGradient + (plane + pixel * pixelStride) * n);
    }
  });
}

template <class T>
void maxPoolForward(const Context& context, const Pool& p, const T* source, T* destination, std::int32_t* indices) {
  const bool packs = aligned({source, destination, indices});
  if (tilesInput(p) && !channelsLast(p) && packs && p.outWidth % 2 == 0)
    forwardPairs<2>(context, p, source, destination, indices);
  else if (channelsLast(p) && packs && p.inChannels % packWidth == 0)
    forwardOf<packWidth>(context, p, source, destination, indices);
  else
    forwardOf<1>(context, p, source, destination, indices);
}

// Every input pixel gathers from the windows that may have chosen it. Winners outside the plane are
// a fault where a window sees pixels.
template <class T>
void maxPoolBackward(const Context& context, const Pool& p, const T* destinationGradient, const std::int32_t* indices,
                     T* sourceGradient) {
  const bool packs = aligned({destinationGradient, indices, sourceGradient});
  const bool channelPacks = channelsLast(p) && packs && p.inChannels % packWidth == 0;
  if (tilesInput(p) && !channelsLast(p) && packs && p.outWidth % 2 == 0)
    backwardPairs<2>(context, p, destinationGradient, indices, sourceGradient);
  else if (tilesInput(p) && channelPacks)
    backwardSquares<packWidth>(context, p, destinationGradient, indices, sourceGradient);
  else if (channelPacks)
    backwardOf<packWidth>(context, p, destinationGradient, indices, sourceGradient);
  else
    backwardOf<1>(context, p, destinationGradient, indices, sourceGradient);
}

Pool countableMaxPool(const Kernel& kernel) {
  const auto p = tiled<Pool>(kernel);
  reference::indicesBytes(p);
  return p;
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileMaxPool(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::maxPoolForward:
      return compiled(context, [p = countableMaxPool(kernel)](const A& a) {
        maxPoolForward<T>(a.context, p, a.at<T>(0), a.at<T>(1), a.at<std::int32_t>(2));
      });
    case KernelKind::maxPoolBackward:
      return compiled(context, [p = countableMaxPool(kernel)](const A& a) {
        maxPoolBackward<T>(a.context, p, a.at<T>(0), a.at<std::int32_t>(1), a.at<T>(2));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileMaxPool)

}  // namespace tilefold::cuda
