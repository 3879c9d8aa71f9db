// Kernels that visit the elements of a tile, plain or nhwc, with constants of their channels, which
// a block finds once for all its elements.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "divisor.cuh"
#include "element_loop.cuh"

namespace tilefold::cuda {

constexpr std::int64_t constantsPerBlock = 256;
// Of a block of pixels: few, for they take long to find, yet whole lines of memory.
constexpr std::int64_t channelsPerBlock = 64;
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

// Pixels that a thread loads before it stores the first of them.
constexpr int pixelsAhead = 4;

template <int n, int resident, class Of, class Read, class Write>
__global__ void __launch_bounds__(blockThreads, resident) visitPixels(PixelBlocks b, Of of, Read read, Write write) {
  using Constants = decltype(of(std::int64_t{}, std::int64_t{}));
  alignas(Constants) __shared__ unsigned char storage[channelsPerBlock * sizeof(Constants)];
  auto* const constants = reinterpret_cast<Constants*>(storage);
  const Division channelBlock = b.byChannelBlocks(blockIdx.x), pixelBlock = b.byPixelBlocks(channelBlock.quotient);
  const std::int64_t image = pixelBlock.quotient, perBlock = std::int64_t{b.lanes} * n, firstChannel = channelBlock.remainder * perBlock;
  const int thread = static_cast<int>(threadIdx.x), lane = thread % b.lanes, row = thread / b.lanes, rows = blockThreads / b.lanes;
  const std::int64_t channel = firstChannel + lane * n;
  const std::int64_t begin = pixelBlock.remainder * b.perBlock,
                     end = row >= rows || channel >= b.channels ? 0 : begin + b.perBlock < b.pixels ? begin + b.perBlock : b.pixels;
  std::int64_t pixel = begin + row;
  const auto inside = [&](int k) { return pixel + k * rows < end; };
  const auto place = [&](int k) { return (image * b.pixels + pixel + k * rows) * b.channels + channel; };
  decltype(read(Pack<float, n>{}, std::int64_t{})) loaded[pixelsAhead];
  // All at once, so that loads overlap, which no compiler may do by itself: source and destination
  // may be one. The first pixel stands for those behind the end.
  const auto load = [&] {
#pragma unroll
    for (int k = 0; k < pixelsAhead; ++k) loaded[k] = read(Pack<float, n>{}, place(inside(k) ? k : 0));
  };
  // Constants take as long to find as the first pixels to arrive.
  if (inside(0)) load();
  for (std::int64_t c = threadIdx.x; c < perBlock && firstChannel + c < b.channels; c += blockThreads)
    constants[c] = of(image, firstChannel + c);
  __syncthreads();
  if (!inside(0)) return;
  Constants own[n];
  for (int k = 0; k < n; ++k) own[k] = constants[lane * n + k];
  while (true) {
#pragma unroll
    for (int k = 0; k < pixelsAhead; ++k)
      if (inside(k)) write(loaded[k], place(k), [&](int at) { return own[at]; });
    pixel += pixelsAhead * rows;
    if (!inside(0)) return;
    load();
  }
}

template <int n, int resident, class Of, class Read, class Write>
void visitByPixels(const Context& context, const char* name, const Tile& t, bool perImage, const Of& of, const Read& read,
                   const Write& write) {
  const std::int64_t images = perImage ? t.batch : 1, pixels = (perImage ? 1 : t.batch) * t.height * t.width, packs = t.channels / n;
  const std::int64_t mostLanes = channelsPerBlock / n, channelBlocks = (packs + mostLanes - 1) / mostLanes;
  const std::int64_t lanes = (packs + channelBlocks - 1) / channelBlocks, rows = blockThreads / lanes;
  // All blocks at once, for each finds constants: one that came later would begin with that again.
  const std::int64_t share = std::max<std::int64_t>(1, context.multiprocessors * resident / (images * channelBlocks));
  const std::int64_t perBlock = ((pixels + share - 1) / share + rows - 1) / rows * rows, pixelBlocks = (pixels + perBlock - 1) / perBlock;
  launchKernel(context, name, visitPixels<n, resident, Of, Read, Write>, images * pixelBlocks * channelBlocks, blockThreads,
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
// does not hold. `pack` is empty, as forEachPack's. `resident` blocks share a multiprocessor, whose
// registers hold the constants of a pack for each thread.
template <class T, int resident, class Of, class Read, class Write>
void forEachOfChannels(const Context& context, const char* name, const Tile& t, bool perImage, std::initializer_list<const void*> addresses,
                       const Of& of, const Read& read, const Write& write) {
  constexpr int width = packBytes / sizeof(T);
  const std::int64_t pixels = t.height * t.width;
  const bool inPacks = aligned(addresses);
  // One pixel of all channels is both layouts at once.
  if (pixels == 1 || (t.layout == Layout::nhwc && t.channels > 1)) {
    if (inPacks && t.channels % width == 0)
      visitByPixels<width, resident>(context, name, t, perImage, of, read, write);
    else
      visitByPixels<1, resident>(context, name, t, perImage, of, read, write);
  } else if (inPacks && pixels >= width) {
    visitByPlanes<width>(context, name, t, of, read, write);
  } else {
    visitByPlanes<1>(context, name, t, of, read, write);
  }
}

}  // namespace tilefold::cuda
