#include "bias.hpp"

#include <limits>
#include <type_traits>

#include "../kernels/rectifier.hpp"
#include "element_loop.cuh"
#include "grid.cuh"
#include "warp.cuh"

namespace tilefold::cuda {
namespace {

constexpr const char* sumsName = "summing a bias gradient";
constexpr std::int64_t enoughBlocks = 1024;
constexpr unsigned warps = threads / warpThreads;

template <class T>
constexpr int together = packBytes / sizeof(T);  // elements of one access

// Channels innermost: always so where a channel has one pixel.
bool innermost(Layout layout, std::int64_t pixels) { return layout == Layout::nhwc || pixels == 1; }

// `count` packs of n elements: of channels where `acrossChannels` holds, else `perChannel` packs of
// a channel lie next to each other, those of `channels` channels one after another. Single elements
// may be more than 32 bits count.
template <int n, bool acrossChannels, class T>
__global__ void addBias(T* values, const float* bias, float slope, std::uint32_t channels, std::uint32_t perChannel, std::uint64_t count) {
  using Index = std::conditional_t<n == 1, std::uint64_t, std::uint32_t>;
  for (std::uint64_t i = firstIndex(); i < count; i += indexStep()) {
    const auto index = static_cast<Index>(i);
    const auto channel = static_cast<std::uint32_t>(acrossChannels ? index % (channels / n) * n : index / perChannel % channels);
    Pack<float, n> pack, biases{};
    pack.load(values + i * n);
    if (bias != nullptr) {
      if constexpr (acrossChannels) {
        biases.load(bias + channel);
      } else {
        const float one = bias[channel];
        for (int k = 0; k < n; ++k) biases[k] = one;
      }
    }
    for (int k = 0; k < n; ++k) pack[k] = rectified(pack[k] + biases[k], slope);
    pack.store(values + i * n);
  }
}

// In pairs, and pairs of those.
template <int n>
__device__ double total(const float* values) {
  if constexpr (n == 1)
    return static_cast<double>(values[0]);
  else
    return total<n / 2>(values) + total<n / 2>(values + n / 2);
}

// Adds `rows` rows of `columns` sums, row after row halved; the result is in row 0.
template <unsigned rows, unsigned columns>
__device__ double addRows(double (&sums)[rows * columns], unsigned index, double sum) {
  sums[index] = sum;
  for (unsigned half = rows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (index < half * columns) sums[index] += sums[index + half * columns];
  }
  return sums[index];
}

// sums[slice][channel] of planes [batch][channels][pixels]; pixels and the elements of a slice are
// counted in packs of n.
template <int n, class T, class Sum>
__global__ void sumPlanes(const T* values, Sum* sums, std::uint32_t batch, std::uint32_t channels, std::uint32_t pixels,
                          std::uint32_t perSlice) {
  __shared__ double shared[threads];
  const std::uint32_t channel = blockIdx.x, slice = blockIdx.y;
  const std::uint64_t first = std::uint64_t{slice} * perSlice, end = std::uint64_t{batch} * pixels;
  const std::uint64_t last = first + perSlice < end ? first + perSlice : end;
  double sum = 0;
#pragma unroll 4
  for (std::uint64_t i = first + threadIdx.x; i < last; i += threads) {
    const std::uint32_t image = static_cast<std::uint32_t>(i) / pixels, pixel = static_cast<std::uint32_t>(i) - image * pixels;
    Pack<float, n> pack;
    pack.load(values + ((std::size_t{image} * channels + channel) * pixels + pixel) * n);
    sum += total<n>(pack.values);
  }
  sum = addRows<threads, 1>(shared, threadIdx.x, sum);
  if (threadIdx.x == 0) sums[std::size_t{slice} * channels + channel] = static_cast<Sum>(sum);
}

// sums[slice][channel] of rows [rows][channels].
template <class Value, class Sum>
__global__ void sumColumns(const Value* values, Sum* sums, std::uint64_t rows, std::uint32_t channels, std::uint64_t perSlice) {
  __shared__ double shared[threads];
  const std::uint32_t lane = threadIdx.x % warpThreads, channel = blockIdx.x * warpThreads + lane, slice = blockIdx.y;
  const std::uint64_t first = slice * perSlice;
  const std::uint64_t last = first + perSlice < rows ? first + perSlice : rows;
  double sum = 0;
  if (channel < channels) {
#pragma unroll 8
    for (std::uint64_t row = first + threadIdx.x / warpThreads; row < last; row += warps)
      sum += static_cast<double>(values[row * channels + channel]);
  }
  sum = addRows<warps, warpThreads>(shared, threadIdx.x, sum);
  if (threadIdx.x < warpThreads && channel < channels) sums[std::size_t{slice} * channels + channel] = static_cast<Sum>(sum);
}

std::int64_t quotientUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

unsigned columnBlocks(std::int64_t channels) { return static_cast<unsigned>(quotientUp(channels, warpThreads)); }

// Parts of which a channel's sum is made: more give more blocks, each with 4096 elements or more to
// add.
std::int64_t slicesOf(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels) {
  const bool columns = innermost(layout, pixels);
  const std::int64_t blocks = columns ? columnBlocks(channels) : channels, perBlock = columns ? 4096 / warpThreads : 4096;
  return std::min(quotientUp(enoughBlocks, blocks), quotientUp(batch * pixels, perBlock));
}

template <class T, class Sum>
void sumSlices(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels, const T* gradient,
               std::int64_t slices, Sum* sums) {
  const auto count = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  if (innermost(layout, pixels)) {
    const std::int64_t rows = batch * pixels;
    launchGrid(stream, sumsName, sumColumns<T, Sum>, dim3(columnBlocks(channels), count(slices)), threads, gradient, sums,
               static_cast<std::uint64_t>(rows), count(channels), static_cast<std::uint64_t>(quotientUp(rows, slices)));
  } else if (pixels % together<T> == 0 && aligned(gradient)) {
    launchGrid(stream, sumsName, sumPlanes<together<T>, T, Sum>, dim3(count(channels), count(slices)), threads, gradient, sums,
               count(batch), count(channels), count(pixels / together<T>), count(quotientUp(batch * pixels / together<T>, slices)));
  } else {
    launchGrid(stream, sumsName, sumPlanes<1, T, Sum>, dim3(count(channels), count(slices)), threads, gradient, sums, count(batch),
               count(channels), count(pixels), count(quotientUp(batch * pixels, slices)));
  }
}

}  // namespace

template <class T>
void addBiasAndSlope(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels,
                     const float* biasOrNull, double slope, T* values) {
  if (biasOrNull == nullptr && slope == 1) return;
  const std::int64_t elements = batch * channels * pixels;
  const bool acrossChannels = innermost(layout, pixels);
  const std::int64_t whole = acrossChannels ? channels : pixels;
  const auto launch = [&](auto kernel, int n) {
    launchGrid(stream, "adding a bias", kernel, blocksFor(elements / n), threads, values, biasOrNull, static_cast<float>(slope),
               static_cast<std::uint32_t>(channels), static_cast<std::uint32_t>(acrossChannels ? 1 : pixels / n),
               static_cast<std::uint64_t>(elements / n));
  };
  if (whole % together<T> != 0 || !aligned({values, biasOrNull}) || elements / together<T> > std::numeric_limits<std::uint32_t>::max())
    launch(addBias<1, false, T>, 1);
  else if (acrossChannels)
    launch(addBias<together<T>, true, T>, together<T>);
  else
    launch(addBias<together<T>, false, T>, together<T>);
}

std::int64_t biasGradientPartialBytes(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels) {
  const std::int64_t slices = slicesOf(layout, batch, channels, pixels);
  return slices == 1 ? 0 : slices * channels * static_cast<std::int64_t>(sizeof(double));
}

template <class T>
void biasGradient(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels, const T* gradient,
                  double* partialsOrNull, float* sums) {
  const std::int64_t slices = partialsOrNull == nullptr ? 1 : slicesOf(layout, batch, channels, pixels);
  if (slices == 1) return sumSlices(stream, layout, batch, channels, pixels, gradient, 1, sums);
  sumSlices(stream, layout, batch, channels, pixels, gradient, slices, partialsOrNull);
  launchGrid(stream, "summing a bias gradient's parts", sumColumns<double, float>, columnBlocks(channels), threads, partialsOrNull, sums,
             static_cast<std::uint64_t>(slices), static_cast<std::uint32_t>(channels), static_cast<std::uint64_t>(slices));
}

#define TILEFOLD_INSTANTIATE(T)                                                                                               \
  template void addBiasAndSlope<T>(cudaStream_t, Layout, std::int64_t, std::int64_t, std::int64_t, const float*, double, T*); \
  template void biasGradient<T>(cudaStream_t, Layout, std::int64_t, std::int64_t, std::int64_t, const T*, double*, float*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cuda
