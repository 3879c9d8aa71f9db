#include "bias.hpp"
#include "grid.cuh"
#include "launch.cuh"

namespace tilefold::cuda {
namespace {

constexpr const char* sumsName = "summing a bias gradient";
constexpr std::int64_t enoughBlocks = 1024;
constexpr unsigned warp = 32, warps = threads / warp;

// Channels innermost: always so where a channel has one pixel.
bool innermost(Layout layout, std::int64_t pixels) { return layout == Layout::nhwc || pixels == 1; }

__device__ float rectified(float value, float slope) { return value > 0 ? value : slope * value; }

__device__ void finish(float& value, const float* bias, unsigned, float slope) {
  value = rectified(value + (bias == nullptr ? 0.0F : bias[0]), slope);
}

// `step`: from an element's bias to the next element's.
__device__ void finish(float4& value, const float* bias, unsigned step, float slope) {
  finish(value.x, bias, 0, slope);
  finish(value.y, bias == nullptr ? bias : bias + step, 0, slope);
  finish(value.z, bias == nullptr ? bias : bias + 2 * step, 0, slope);
  finish(value.w, bias == nullptr ? bias : bias + 3 * step, 0, slope);
}

// Elements of a channel lie `pixels` next to each other, those of `channels` channels one after another.
template <class Vector>
__global__ void addBias(Vector* values, const float* bias, float slope, std::uint32_t channels, std::uint32_t pixels, std::uint32_t count) {
  constexpr std::uint32_t lanes = sizeof(Vector) / sizeof(float);
  for (std::uint64_t i = firstIndex(); i < count; i += indexStep()) {
    const std::uint32_t channel = static_cast<std::uint32_t>(i) * lanes / pixels % channels;
    Vector value = values[i];
    finish(value, bias == nullptr ? nullptr : bias + channel, pixels == 1 ? 1 : 0, slope);
    values[i] = value;
  }
}

__device__ double total(float value) { return static_cast<double>(value); }
__device__ double total(double value) { return value; }
__device__ double total(float4 value) { return (total(value.x) + total(value.y)) + (total(value.z) + total(value.w)); }

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

// sums[slice][channel] of planes [batch][channels][pixels]; pixels and the elements of a slice are counted in vectors.
template <class Vector, class Sum>
__global__ void sumPlanes(const Vector* values, Sum* sums, std::uint32_t batch, std::uint32_t channels, std::uint32_t pixels,
                          std::uint32_t perSlice) {
  __shared__ double shared[threads];
  const std::uint32_t channel = blockIdx.x, slice = blockIdx.y;
  const std::uint64_t first = std::uint64_t{slice} * perSlice, end = std::uint64_t{batch} * pixels;
  const std::uint64_t last = first + perSlice < end ? first + perSlice : end;
  double sum = 0;
#pragma unroll 4
  for (std::uint64_t i = first + threadIdx.x; i < last; i += threads) {
    const std::uint32_t image = static_cast<std::uint32_t>(i) / pixels, pixel = static_cast<std::uint32_t>(i) - image * pixels;
    sum += total(values[(std::size_t{image} * channels + channel) * pixels + pixel]);
  }
  sum = addRows<threads, 1>(shared, threadIdx.x, sum);
  if (threadIdx.x == 0) sums[std::size_t{slice} * channels + channel] = static_cast<Sum>(sum);
}

// sums[slice][channel] of rows [rows][channels].
template <class Value, class Sum>
__global__ void sumColumns(const Value* values, Sum* sums, std::uint32_t rows, std::uint32_t channels, std::uint32_t perSlice) {
  __shared__ double shared[threads];
  const std::uint32_t lane = threadIdx.x % warp, channel = blockIdx.x * warp + lane, slice = blockIdx.y;
  const std::uint64_t first = std::uint64_t{slice} * perSlice;
  const std::uint64_t last = first + perSlice < rows ? first + perSlice : rows;
  double sum = 0;
  if (channel < channels) {
#pragma unroll 8
    for (std::uint64_t row = first + threadIdx.x / warp; row < last; row += warps) sum += total(values[row * channels + channel]);
  }
  sum = addRows<warps, warp>(shared, threadIdx.x, sum);
  if (threadIdx.x < warp && channel < channels) sums[std::size_t{slice} * channels + channel] = static_cast<Sum>(sum);
}

std::int64_t quotientUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

unsigned columnBlocks(std::int64_t channels) { return static_cast<unsigned>(quotientUp(channels, warp)); }

// Parts of which a channel's sum is made: more give more blocks, each with 4096 elements or more to add.
std::int64_t slicesOf(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels) {
  const bool columns = innermost(layout, pixels);
  const std::int64_t blocks = columns ? columnBlocks(channels) : channels, perBlock = columns ? 4096 / warp : 4096;
  return std::min(quotientUp(enoughBlocks, blocks), quotientUp(batch * pixels, perBlock));
}

template <class Sum>
void sumSlices(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels, const float* gradient,
               std::int64_t slices, Sum* sums) {
  const auto count = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
  if (innermost(layout, pixels)) {
    const std::int64_t rows = batch * pixels;
    launchGrid(stream, sumsName, sumColumns<float, Sum>, dim3(columnBlocks(channels), count(slices)), threads, gradient, sums, count(rows),
               count(channels), count(quotientUp(rows, slices)));
  } else if (pixels % 4 == 0 && aligned(gradient)) {
    launchGrid(stream, sumsName, sumPlanes<float4, Sum>, dim3(count(channels), count(slices)), threads,
               reinterpret_cast<const float4*>(gradient), sums, count(batch), count(channels), count(pixels / 4),
               count(quotientUp(batch * pixels / 4, slices)));
  } else {
    launchGrid(stream, sumsName, sumPlanes<float, Sum>, dim3(count(channels), count(slices)), threads, gradient, sums, count(batch),
               count(channels), count(pixels), count(quotientUp(batch * pixels, slices)));
  }
}

}  // namespace

void addBiasAndSlope(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels,
                     const float* biasOrNull, double slope, float* values) {
  if (biasOrNull == nullptr && slope == 1) return;
  const std::int64_t elements = batch * channels * pixels;
  const std::int64_t together = innermost(layout, pixels) ? 1 : pixels, whole = innermost(layout, pixels) ? channels : pixels;
  const auto launch = [&](auto* vectors, std::int64_t count) {
    launchGrid(stream, "adding a bias", addBias<std::remove_pointer_t<decltype(vectors)>>, blocksFor(count), threads, vectors, biasOrNull,
               static_cast<float>(slope), static_cast<std::uint32_t>(channels), static_cast<std::uint32_t>(together),
               static_cast<std::uint32_t>(count));
  };
  if (whole % 4 == 0 && aligned(values))
    launch(reinterpret_cast<float4*>(values), elements / 4);
  else
    launch(values, elements);
}

std::int64_t biasGradientPartialBytes(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels) {
  const std::int64_t slices = slicesOf(layout, batch, channels, pixels);
  return slices == 1 ? 0 : slices * channels * static_cast<std::int64_t>(sizeof(double));
}

void biasGradient(cudaStream_t stream, Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixels, const float* gradient,
                  double* partialsOrNull, float* sums) {
  const std::int64_t slices = partialsOrNull == nullptr ? 1 : slicesOf(layout, batch, channels, pixels);
  if (slices == 1) return sumSlices(stream, layout, batch, channels, pixels, gradient, 1, sums);
  sumSlices(stream, layout, batch, channels, pixels, gradient, slices, partialsOrNull);
  launchGrid(stream, "summing a bias gradient's parts", sumColumns<double, float>, columnBlocks(channels), threads, partialsOrNull, sums,
             static_cast<std::uint32_t>(slices), static_cast<std::uint32_t>(channels), static_cast<std::uint32_t>(slices));
}

}  // namespace tilefold::cuda
