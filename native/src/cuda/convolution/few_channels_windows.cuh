// The windows of a convolution over few channels, whose taps a warp's threads read for 32 output
// pixels at a time.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../kernels/divisor.cuh"
#include "../kernels/warp.cuh"
#include "few_channels.hpp"

namespace tilefold::cuda {

// A warp goes through 64 output channels, 8 of its threads through 8 of them each.
constexpr int channelThreads = 8, channelsOfThread = 8, channelsOfWarp = channelThreads * channelsOfThread;
constexpr int productWarps = 4, productThreads = productWarps * warpThreads;
// Taps are cut into so many groups.
constexpr int tapGroups = 4;
// Outside of any source, whatever is added.
constexpr std::uint32_t outside = std::uint32_t{1} << 30;

// From the element where an output's window would begin without padding.
struct Tap {
  std::int64_t offset;
  std::uint32_t row, column;  // modulo 2^32
};

// The windows of all output pixels, n taps for each group.
template <int n>
struct TapWindows {
  Divisor byWidth, byHeight;  // of the output
  std::int64_t pixels, imageStride, rowStride, columnStride;
  std::uint32_t height, width, strideHeight, strideWidth;
  Tap taps[tapGroups * n];

  // Fours of a group's taps.
  static constexpr int quads = (n + 3) / 4;

  // put(group, quad, values) for all fours of a pixel's taps; padding is 0, and so are all of a
  // pixel behind the last.
  template <class T, class Put>
  __device__ void gather(const T* source, std::int64_t pixel, const Put& put) const {
    const Division row = byWidth(pixel), image = byHeight(row.quotient);
    const std::uint32_t y = pixel < pixels ? static_cast<std::uint32_t>(image.remainder) * strideHeight : outside;
    const std::uint32_t x = static_cast<std::uint32_t>(row.remainder) * strideWidth;
    const T* const first = source + image.quotient * imageStride;
    const std::int64_t start = y * rowStride + x * columnStride;
// Two at a time: registers hold no more loads.
#pragma unroll 2
    for (int group = 0; group < tapGroups; ++group) {
#pragma unroll
      for (int quad = 0; quad < quads; ++quad) {
        float values[4]{};
#pragma unroll
        for (int i = 0; i < 4 && 4 * quad + i < n; ++i) {
          const Tap& tap = taps[group * n + 4 * quad + i];
          if (y + tap.row < height && x + tap.column < width) values[i] = static_cast<float>(first[start + tap.offset]);
        }
        put(group, quad, float4{values[0], values[1], values[2], values[3]});
      }
    }
  }
};

template <int n>
TapWindows<n> windowsOf(const Convolution& c) {
  const bool innermost = c.sourceLayout == Layout::nhwc;
  const std::int64_t plane = c.inHeight * c.inWidth, columnStride = innermost ? c.inChannels : 1, rowStride = c.inWidth * columnStride;
  const auto narrow = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  TapWindows<n> w{Divisor(c.outWidth), Divisor(c.outHeight), c.batch * c.outHeight * c.outWidth, plane * c.inChannels, rowStride,
                  columnStride, narrow(c.inHeight), narrow(c.inWidth), narrow(c.strideHeight), narrow(c.strideWidth), {}};
  for (std::int64_t i = 0; i < tapGroups * n; ++i) {
    // As in ohwi.
    const std::int64_t channel = i % c.inChannels, at = i / c.inChannels;
    const std::int64_t row = at / c.kernelWidth * c.dilationHeight - c.padTop, column = at % c.kernelWidth * c.dilationWidth - c.padLeft;
    w.taps[i] = {row * rowStride + column * columnStride + channel * (innermost ? 1 : plane), narrow(row), narrow(column)};
    if (i >= tapsOf(c)) w.taps[i].row = outside;
  }
  return w;
}

// Product<n, T>(c, context), for as many taps a group as the convolution has, of activations of T.
template <template <int, class> class Product>
std::unique_ptr<ConvolutionProduct> makeForTaps(const Convolution& c, const Context& context) {
  const auto make = [&](auto zero) -> std::unique_ptr<ConvolutionProduct> {
    using T = decltype(zero);
    // 3 channels of 3 x 3 taps are 27.
    if (tapsOf(c) <= 7 * tapGroups) return std::make_unique<Product<7, T>>(c, context);
    return std::make_unique<Product<mostTaps / tapGroups, T>>(c, context);
  };
  return context.precision == Precision::bf16 ? make(Bfloat16{}) : make(0.0F);
}

}  // namespace tilefold::cuda
