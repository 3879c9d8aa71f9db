// Pairs of sums over rows of statistics whose elements are neighbours, as channels of nhwc are: in
// packs of columns.
#pragma once
#include "reduction.cuh"
#include "statistics_rows.cuh"

namespace tilefold::cuda {

// The blocks that a launch aims at: one for each multiprocessor of an H100 or H200, whose registers
// one fills. No other device's number may stand here: it decides the order of sums.
constexpr std::int64_t columnBlocks = 132;
// Packs of columns that lie side by side in a block: a line of memory.
template <int n>
constexpr int packLanes = n == 1 ? 32 : 8;

// What the threads of a pack's columns add by themselves: every step-th of `length` pixels.
template <int n, int ahead, class Constants, class Read, class Terms>
struct ColumnTerms {
  Constants constants[n];
  std::int64_t first, stride, length;
  const Read& read;
  const Terms& terms;

  // `ahead` pixels, all loaded before the first is added. Where they are not `whole`, the first
  // stands for those behind the end, which are not added.
  template <bool whole>
  __device__ void add(Sums<2 * n>& sum, std::int64_t pixel, std::int64_t step) const {
    decltype(read(Pack<float, n>{}, first)) loaded[ahead];
    const auto inside = [&](int k) { return whole || pixel + k * step < length; };
    const auto place = [&](int k) { return first + (inside(k) ? pixel + k * step : pixel) * stride; };
#pragma unroll
    for (int k = 0; k < ahead; ++k) loaded[k] = read(Pack<float, n>{}, place(k));
    float sums[2 * n] = {};
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      if (!inside(k)) break;
      terms(
          loaded[k], place(k), [&](int at) { return constants[at]; },
          [&](int at, float one, float other) {
            sums[2 * at] += one;
            sums[2 * at + 1] += other;
          });
    }
    for (int k = 0; k < 2 * n; ++k) sum.values[k] += static_cast<double>(sums[k]);
  }

  __device__ Sums<2 * n> sum(std::int64_t begin, std::int64_t step) const {
    Sums<2 * n> sum{};
    std::int64_t pixel = begin;
    for (; pixel + (ahead - 1) * step < length; pixel += ahead * step) add<true>(sum, pixel, step);
    if (pixel < length) add<false>(sum, pixel, step);
    return sum;
  }
};

// A block sums one slice of the pixels of one group of columns; the last block of a group adds the
// slices.
template <int n, int ahead, class Of, class Read, class Terms, class Finish>
__global__ void __launch_bounds__(sumThreads, 1)
    sumColumnSlices(StatisticsRows rows, std::int64_t slices, Partials* partials, Of of, Read read, Terms terms, Finish finish) {
  using Constants = decltype(of(StatisticsRow{}));
  using Sum = Sums<2 * n>;
  constexpr int lanes = packLanes<n>, columns = lanes * n;
  __shared__ double shared[sharedDoubles<lanes, Sum>];
  alignas(Constants) __shared__ unsigned char storage[columns * sizeof(Constants)];
  auto* const constants = reinterpret_cast<Constants*>(storage);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % lanes, row = thread / lanes;
  const std::int64_t slice = blockIdx.x % slices, groups = (rows.count() + columns - 1) / columns;
  for (std::int64_t group = blockIdx.x / slices; group < groups; group += gridDim.x / slices) {
    const std::int64_t firstRow = group * columns, ownRow = firstRow + lane * n;
    const bool hasRow = thread < columns && firstRow + thread < rows.count();
    if (hasRow) constants[thread] = of(rows.row(firstRow + thread));
    __syncthreads();
    Sum sum{};
    if (ownRow < rows.count()) {
      ColumnTerms<n, ahead, Constants, Read, Terms> own{{}, rows.row(ownRow).first, rows.stride(), rows.length(), read, terms};
      for (int k = 0; k < n; ++k) own.constants[k] = constants[lane * n + k];
      sum = own.sum(slice * (sumThreads / lanes) + row, slices * (sumThreads / lanes));
    }
    sum = sumOfRows<lanes>(sum, shared);
    if (!sumOfSlices<lanes>(sum, group, slice, slices, partials, shared)) continue;
    // A thread for each row: finishing one takes long.
    if (row == 0) putSum(shared + lane, lanes, sum);
    __syncthreads();
    const double* const sums = shared + 2 * (thread % n) * lanes + thread / n;
    if (hasRow) finish(rows.row(firstRow + thread), sums[0], sums[lanes]);
    __syncthreads();
  }
}

template <int n, int ahead, class Of, class Read, class Terms, class Finish>
void sumColumns(const Context& context, const char* name, const StatisticsRows& rows, const Of& of, const Read& read, const Terms& terms,
                const Finish& finish) {
  constexpr std::int64_t columns = packLanes<n> * n, perBlock = ahead * (sumThreads / packLanes<n>);
  const std::int64_t groups = (rows.count() + columns - 1) / columns, worthwhile = (rows.length() + perBlock - 1) / perBlock;
  const std::int64_t slices = std::max<std::int64_t>(1, std::min(columnBlocks / groups, worthwhile));
  const std::int64_t blocks = slices > 1 ? groups * slices : std::min<std::int64_t>(groups, std::int64_t{1} << 20);
  launchKernel(context, name, sumColumnSlices<n, ahead, Of, Read, Terms, Finish>, blocks, sumThreads, rows, slices, context.partials, of,
               read, terms, finish);
}

}  // namespace tilefold::cuda
