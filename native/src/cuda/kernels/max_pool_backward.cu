// Gradients of max pools (max_pool.cu). Semantics: reference/pooling.cpp.
#include "../../kernels/rectifier.hpp"
#include "activation.cuh"
#include "element_loop.cuh"
#include "max_pool.hpp"
#include "warp.cuh"
#include "window_axis.cuh"

namespace tilefold::cuda {
namespace {

// What flows back to a pixel: the gradient where it won.
template <int n>
struct Won {
  Pack<float, n> gradient;
  Pack<std::int32_t, n> indices;

  template <class T, class Index>
  __device__ Won(const T* destinationGradient, const Index* at) {
    gradient.load(destinationGradient);
    indices.load(at);
  }
  __device__ float at(int k, std::int32_t index) const { return indices[k] == index ? gradient[k] : 0.0F; }
};

// What a rectifier before the pool lets through of gradients of type T, whose first is element i.
template <int n, class T>
__device__ Pack<float, n> passed(const RectifierBefore<T>& rectifier, const Pack<float, n>& gradients, std::int64_t i) {
  if (rectifier.output == nullptr) return gradients;
  Pack<float, n> output, result;
  output.load(rectifier.output + i);
  for (int k = 0; k < n; ++k) result[k] = rectified(output[k], static_cast<float>(static_cast<T>(gradients[k])), rectifier.slope);
  return result;
}

template <int n, class T, class Index>
void backwardOf(const Context& context, const Pool& p, const T* destinationGradient, const Index* indices, T* sourceGradient,
                const RectifierBefore<T>& rectifier) {
  const Activation in(p.layout, p.inChannels / n, p.inHeight, p.inWidth), out(p.layout, p.inChannels / n, p.outHeight, p.outWidth);
  const WindowAxis rowAxis = WindowAxis::rows(p), columnAxis = WindowAxis::columns(p);
  const std::int64_t inWidth = p.inWidth, outWidth = p.outWidth, places = p.kernelWidth;
  forEach(context, "maxPoolBackward", p.batch * (p.inChannels / n) * p.inHeight * p.inWidth, [=] __device__(std::int64_t i) {
    const Place at = in.place(i);
    const std::int64_t plane = out.plane(at.image, at.channel), pixelStride = out.pixelStride();
    const Range rows = rowAxis.over(at.row), columns = columnAxis.over(at.column);
    Pack<float, n> sum{};
    for (std::int64_t y = rows.from; y < rows.to; ++y) {
      for (std::int64_t x = columns.from; x < columns.to; ++x) {
        std::int64_t index = at.row * inWidth + at.column;
        if (isPlace<Index>) {
          const Division ky = rowAxis.placeIn(y, at.row), kx = columnAxis.placeIn(x, at.column);
          if (ky.remainder != 0 || kx.remainder != 0) continue;
          index = ky.quotient * places + kx.quotient;
        }
        const std::int64_t from = (plane + (y * outWidth + x) * pixelStride) * n;
        const Won<n> won(destinationGradient + from, indices + from);
        for (int k = 0; k < n; ++k) sum[k] += won.at(k, static_cast<std::int32_t>(index));
      }
    }
    passed(rectifier, sum, i * n).store(sourceGradient + i * n);
  });
}

// Blocks of pixels of one input row, beside each other, and `lanes` packs of their channels.
struct RowBlocks {
  std::int64_t packs, inHeight, inWidth, outHeight, outWidth;
  int lanes;
  Divisor byPackBlocks, byColumnBlocks, byRows;
};
constexpr int columnsPerBlock = 128;

// backwardOf for n channels of an nhwc tile and windows without dilation: divisions are made for
// rows and columns alone.
template <int n, class T, class Index>
__global__ void __launch_bounds__(blockThreads)
    gatherRows(RowBlocks b, WindowAxis rowAxis, WindowAxis columnAxis, std::int64_t places, std::int32_t stride,
               const T* destinationGradient, const Index* indices, T* sourceGradient, RectifierBefore<T> rectifier) {
  __shared__ Range columns[columnsPerBlock];
  const Division packBlock = b.byPackBlocks(blockIdx.x), columnBlock = b.byColumnBlocks(packBlock.quotient);
  const Division at = b.byRows(columnBlock.quotient);
  const std::int64_t image = at.quotient, row = at.remainder, firstColumn = columnBlock.remainder * columnsPerBlock;
  const int threads = static_cast<int>(blockDim.x), thread = static_cast<int>(threadIdx.x);
  const int count = static_cast<int>(b.inWidth - firstColumn < columnsPerBlock ? b.inWidth - firstColumn : columnsPerBlock);
  for (int c = thread; c < count; c += threads) columns[c] = columnAxis.over(firstColumn + c);
  __syncthreads();
  const std::int64_t pack = packBlock.remainder * b.lanes + thread % b.lanes;
  if (pack >= b.packs || thread / b.lanes >= threads / b.lanes) return;
  const Range rows = rowAxis.over(row);
  const std::int64_t outStep = b.packs * n;
  const auto gather = [&](int c) {
    const std::int64_t column = firstColumn + c;
    const Range over = columns[c];
    Pack<float, n> sum{};
    for (std::int64_t y = rows.from; y < rows.to; ++y) {
      std::int64_t from = (((image * b.outHeight + y) * b.outWidth + over.from) * b.packs + pack) * n;
      // What a window here calls this pixel: its place there, one stride less in the next.
      auto index = static_cast<std::int32_t>(
          isPlace<Index> ? (row - rowAxis.start(y)) * places + column - columnAxis.start(over.from) : row * b.inWidth + column);
#pragma unroll 2
      for (auto left = static_cast<int>(over.to - over.from); left > 0; --left) {
        const Won<n> won(destinationGradient + from, indices + from);
        for (int k = 0; k < n; ++k) sum[k] += won.at(k, index);
        from += outStep;
        if (isPlace<Index>) index -= stride;
      }
    }
    const std::int64_t to = (((image * b.inHeight + row) * b.inWidth + column) * b.packs + pack) * n;
    passed(rectifier, sum, to).store(sourceGradient + to);
  };
  // Columns a stride apart lie below as many windows, so threads of a warp stay together.
  const int phases = stride < count ? stride : count;
  for (int phase = 0; phase < phases; ++phase)
    for (int c = phase + thread / b.lanes * phases; c < count; c += threads / b.lanes * phases) gather(c);
}

template <int n, class T, class Index>
void backwardRows(const Context& context, const Pool& p, const T* destinationGradient, const Index* indices, T* sourceGradient,
                  const RectifierBefore<T>& rectifier) {
  const std::int64_t packs = p.inChannels / n, packBlocks = (packs + blockThreads - 1) / blockThreads;
  const std::int64_t lanes = (packs + packBlocks - 1) / packBlocks, columnBlocks = (p.inWidth + columnsPerBlock - 1) / columnsPerBlock;
  const std::int64_t items = lanes * std::min<std::int64_t>(p.inWidth, columnsPerBlock);
  const auto threads = static_cast<int>(std::min<std::int64_t>((items + warpThreads - 1) / warpThreads * warpThreads, blockThreads));
  launchKernel(context, "maxPoolBackward", gatherRows<n, T, Index>, p.batch * p.inHeight * columnBlocks * packBlocks, threads,
               RowBlocks{packs, p.inHeight, p.inWidth, p.outHeight, p.outWidth, static_cast<int>(lanes), Divisor(packBlocks),
                         Divisor(columnBlocks), Divisor(p.inHeight)},
               WindowAxis::rows(p), WindowAxis::columns(p), p.kernelWidth, static_cast<std::int32_t>(p.strideWidth), destinationGradient,
               indices, sourceGradient, rectifier);
}

template <int n, class T, class Index>
void backwardPairs(const Context& context, const Pool& p, const T* destinationGradient, const Index* indices, T* sourceGradient,
                   const RectifierBefore<T>& rectifier) {
  const Divisor byColumns(p.outWidth / n);
  const std::int64_t width = p.inWidth;
  forEach(context, "maxPoolBackward", p.batch * p.inChannels * p.outHeight * (p.outWidth / n), [=] __device__(std::int64_t i) {
    const Division place = byColumns(i);
    const Won<n> won(destinationGradient + i * n, indices + i * n);
    Pack<float, 2 * n> above, below;
    for (int k = 0; k < 2 * n; ++k) {
      above[k] = won.at(k / 2, k % 2);
      below[k] = won.at(k / 2, 2 + k % 2);
    }
    const std::int64_t to = 2 * place.quotient * width + 2 * n * place.remainder;
    above = passed(rectifier, above, to);
    below = passed(rectifier, below, to + width);
    above.store(sourceGradient + to);
    below.store(sourceGradient + to + width);
  });
}

// One output pixel, n of its channels.
template <int n, class T, class Index>
void backwardSquares(const Context& context, const Pool& p, const T* destinationGradient, const Index* indices, T* sourceGradient,
                     const RectifierBefore<T>& rectifier) {
  const Activation in(p.layout, p.inChannels / n, p.inHeight, p.inWidth), out(p.layout, p.inChannels / n, p.outHeight, p.outWidth);
  const std::int64_t width = p.inWidth;
  forEach(context, "maxPoolBackward", p.batch * (p.inChannels / n) * p.outHeight * p.outWidth, [=] __device__(std::int64_t i) {
    const Place at = out.place(i);
    const std::int64_t plane = in.plane(at.image, at.channel), pixelStride = in.pixelStride();
    const Won<n> won(destinationGradient + i * n, indices + i * n);
    const auto place = [&](int corner) {
      return (plane + ((2 * at.row + corner / 2) * width + 2 * at.column + corner % 2) * pixelStride) * n;
    };
    // All before the first is stored, so that what they load of the rectifier overlaps.
    Pack<float, n> corners[4];
#pragma unroll
    for (int corner = 0; corner < 4; ++corner) {
      for (int k = 0; k < n; ++k) corners[corner][k] = won.at(k, corner);
      corners[corner] = passed(rectifier, corners[corner], place(corner));
    }
#pragma unroll
    for (int corner = 0; corner < 4; ++corner) corners[corner].store(sourceGradient + place(corner));
  });
}

// Every input pixel gathers from the windows that may have chosen it.
template <class T, class Index>
void maxPoolBackwardBy(const Context& context, const Pool& p, const T* destinationGradient, const Index* indices, T* sourceGradient,
                       const RectifierBefore<T>& rectifier) {
  constexpr int width = packBytes / sizeof(T);
  const bool packs = aligned({destinationGradient, indices, sourceGradient, rectifier.output});
  const bool channelPacks = channelsLast(p) && packs && p.inChannels % width == 0;
  if (tilesInput(p) && !channelsLast(p) && packs && p.outWidth % 2 == 0)
    backwardPairs<2>(context, p, destinationGradient, indices, sourceGradient, rectifier);
  else if (tilesInput(p) && channelPacks)
    backwardSquares<width>(context, p, destinationGradient, indices, sourceGradient, rectifier);
  else if (channelPacks && p.dilationHeight == 1 && p.dilationWidth == 1)
    backwardRows<width>(context, p, destinationGradient, indices, sourceGradient, rectifier);
  else if (channelPacks)
    backwardOf<width>(context, p, destinationGradient, indices, sourceGradient, rectifier);
  else
    backwardOf<1>(context, p, destinationGradient, indices, sourceGradient, rectifier);
}

}  // namespace

template <class T>
void maxPoolBackward(const Context& context, const Pool& p, const T* destinationGradient, const void* indices, T* sourceGradient,
                     const RectifierBefore<T>& rectifier) {
  if (hasByteIndices(p))
    maxPoolBackwardBy(context, p, destinationGradient, static_cast<const std::uint8_t*>(indices), sourceGradient, rectifier);
  else
    maxPoolBackwardBy(context, p, destinationGradient, static_cast<const std::int32_t*>(indices), sourceGradient, rectifier);
}
template void maxPoolBackward<float>(const Context&, const Pool&, const float*, const void*, float*, const RectifierBefore<float>&);
template void maxPoolBackward<Bfloat16>(const Context&, const Pool&, const Bfloat16*, const void*, Bfloat16*,
                                        const RectifierBefore<Bfloat16>&);

}  // namespace tilefold::cuda
