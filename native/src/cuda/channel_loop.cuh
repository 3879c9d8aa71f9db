// Kernels that visit the elements of a tile, plain or nhwc, with constants of their channels, which
// a block finds once for all its elements.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "divisor.cuh"
#include "element_loop.cuh"

namespace tilefold::cuda {

constexpr std::int64_t constantsPerBlock = 256, lanesPerBlock = 64;
// Pixels that a thread loads before it stores the first of them, so that loads overlap.
constexpr int pixelsAhead = 2;
constexpr std::int64_t minPerBlock = 1024, maxPerBlock = 16384;  // elements

// Enough to be worth finding constants for, as long as that leaves blocks for the whole device.
inline std::int64_t elementsPerBlock(const Context& context, std::int64_t count) {
  const std::int64_t share = count / (context.multiprocessors * std::int64_t{8});
  return std::clamp((share + minPerBlock - 1) / minPerBlock * minPerBlock, minPerBlock, maxPerBlock);
}

// Planes of `pixels` elements, one after another, cut into blocks wherever that falls.
struct PlaneBlocks {
  std::int64_t count, perBlock, pixels;
  Divisor byPixels, byChannels;
};

template <int n, class Of, class Read, class Write>
__global__ void __launch_bounds__(blockThreads) visitPlanes(PlaneBlocks b, Of of, Read read, Write write) {
  using Constants = decltype(of(std::int64_t{}, std::int64_t{}));
  alignas(Constants) __shared__ unsigned char storage[constantsPerBlock * sizeof(Constants)];
  auto* const constants = reinterpret_cast<Constants*>(storage);
  const std::int64_t begin = blockIdx.x * b.perBlock, end = begin + b.perBlock < b.count ? begin + b.perBlock : b.count;
  const std::int64_t firstPlane = b.byPixels(begin).quotient, planes = b.byPixels(end - 1).quotient - firstPlane + 1;
  for (std::int64_t plane = threadIdx.x; plane < planes; plane += blockThreads) {
    const Division at = b.byChannels(firstPlane + plane);
    constants[plane] = of(at.quotient, at.remainder);
  }
  __syncthreads();
  const auto visit = [&](auto values, std::int64_t i, std::int64_t plane) {
    const Constants own = constants[plane - firstPlane];
    write(read(values, i), i, [&](int) { return own; });
  };
  const auto visitOne = [&](std::int64_t i) { visit(Pack<float, 1>{}, i, b.byPixels(i).quotient); };
  const std::int64_t packsEnd = end - (end - begin) % n;
  for (std::int64_t i = begin + threadIdx.x * n; i < packsEnd; i += blockThreads * n) {
    const Division at = b.byPixels(i);
    if (at.remainder + n <= b.pixels)
      visit(Pack<float, n>{}, i, at.quotient);
    else
      for (int k = 0; k < n; ++k) visitOne(i + k);
  }
  for (std::int64_t i = packsEnd + threadIdx.x; i < end; i += blockThreads) visitOne(i);
}

// Pixels of `channels` elements: blocks of `lanes` packs of channels and `perBlock` pixels.
struct PixelBlocks {
  std::int64_t pixels, channels, perBlock;
  int lanes;
  Divisor byChannelBlocks, byPixelBlocks;
};

template <int n, class Of, class Read, class Write>
__global__ void __launch_bounds__(blockThreads) visitPixels(PixelBlocks b, Of of, Read read, Write write) {
  using Constants = decltype(of(std::int64_t{}, std::int64_t{}));
  alignas(Constants) __shared__ unsigned char storage[lanesPerBlock * n * sizeof(Constants)];
  auto* const constants = reinterpret_cast<Constants*>(storage);
  const Division channelBlock = b.byChannelBlocks(blockIdx.x), pixelBlock = b.byPixelBlocks(channelBlock.quotient);
  const std::int64_t image = pixelBlock.quotient, perBlock = std::int64_t{b.lanes} * n, firstChannel = channelBlock.remainder * perBlock;
  for (std::int64_t c = threadIdx.x; c < perBlock && firstChannel + c < b.channels; c += blockThreads)
    constants[c] = of(image, firstChannel + c);
  __syncthreads();
  const int thread = static_cast<int>(threadIdx.x), lane = thread % b.lanes, row = thread / b.lanes, rows = blockThreads / b.lanes;
  const std::int64_t channel = firstChannel + lane * n;
  if (row >= rows || channel >= b.channels) return;
  Constants own[n];
  for (int k = 0; k < n; ++k) own[k] = constants[lane * n + k];
  const std::int64_t begin = pixelBlock.remainder * b.perBlock, end = begin + b.perBlock < b.pixels ? begin + b.perBlock : b.pixels;
  const auto constantsOf = [&](int k) { return own[k]; };
  const std::int64_t step = rows * b.channels;
  std::int64_t pixel = begin + row, i = (image * b.pixels + pixel) * b.channels + channel;
  // No compiler may do so by itself: source and destination may be one.
  for (; pixel + (pixelsAhead - 1) * rows < end; pixel += pixelsAhead * rows, i += pixelsAhead * step) {
    decltype(read(Pack<float, n>{}, i)) loaded[pixelsAhead];
    for (int k = 0; k < pixelsAhead; ++k) loaded[k] = read(Pack<float, n>{}, i + k * step);
    for (int k = 0; k < pixelsAhead; ++k) write(loaded[k], i + k * step, constantsOf);
  }
  for (; pixel < end; pixel += rows, i += step) write(read(Pack<float, n>{}, i), i, constantsOf);
}

template <int n, class Of, class Read, class Write>
void visitByPixels(const Context& context, const char* name, const Tile& t, bool perImage, const Of& of, const Read& read,
                   const Write& write) {
  const std::int64_t images = perImage ? t.batch : 1, pixels = (perImage ? 1 : t.batch) * t.height * t.width, packs = t.channels / n;
  const std::int64_t channelBlocks = (packs + lanesPerBlock - 1) / lanesPerBlock, lanes = (packs + channelBlocks - 1) / channelBlocks;
  const std::int64_t rows = blockThreads / lanes,
                     rowsPerBlock = elementsPerBlock(context, images * pixels * t.channels) / (rows * lanes * n);
  const std::int64_t perBlock = rows * std::max<std::int64_t>(rowsPerBlock, 1), pixelBlocks = (pixels + perBlock - 1) / perBlock;
  launchKernel(context, name, visitPixels<n, Of, Read, Write>, images * pixelBlocks * channelBlocks, blockThreads,
               PixelBlocks{pixels, t.channels, perBlock, static_cast<int>(lanes), Divisor(channelBlocks), Divisor(pixelBlocks)}, of, read,
               write);
}

template <int n, class Of, class Read, class Write>
void visitByPlanes(const Context& context, const char* name, const Tile& t, const Of& of, const Read& read, const Write& write) {
  const std::int64_t pixels = t.height * t.width, count = t.batch * t.channels * pixels;
  // The first and the last plane may be there in part.
  const std::int64_t perBlock = std::min(elementsPerBlock(context, count), (constantsPerBlock - 2) * pixels / n * n);
  launchKernel(context, name, visitPlanes<n, Of, Read, Write>, (count + perBlock - 1) / perBlock, blockThreads,
               PlaneBlocks{count, perBlock, pixels, Divisor(pixels), Divisor(t.channels)}, of, read, write);
}

// write(read(pack, i), i, constants) for packs of type T that begin at element i and cover the
// tile: whatever `read` loads there, maybe before `write` has stored what is in front of it.
// constants(k) is what of(image, channel) gave for element i + k, with any image where `perImage`
// does not hold. `pack` is empty, as forEachPack's.
template <class T, class Of, class Read, class Write>
void forEachOfChannels(const Context& context, const char* name, const Tile& t, bool perImage, std::initializer_list<const void*> addresses,
                       const Of& of, const Read& read, const Write& write) {
  constexpr int width = packBytes / sizeof(T);
  const std::int64_t pixels = t.height * t.width;
  const bool inPacks = aligned(addresses);
  // One pixel of all channels is both layouts at once.
  if (pixels == 1 || (t.layout == Layout::nhwc && t.channels > 1)) {
    if (inPacks && t.channels % width == 0)
      visitByPixels<width>(context, name, t, perImage, of, read, write);
    else
      visitByPixels<1>(context, name, t, perImage, of, read, write);
  } else if (inPacks && pixels >= width) {
    visitByPlanes<width>(context, name, t, of, read, write);
  } else {
    visitByPlanes<1>(context, name, t, of, read, write);
  }
}

}  // namespace tilefold::cuda
