// Sums of many terms in double, in an order that only the shape decides: threads, then blocks, then the blocks' partial sums.
#pragma once
#include "element_loop.cuh"

namespace tilefold::cuda {

constexpr int sumThreads = 512;
constexpr std::int64_t termsPerThread = 16;  // fewer are not worth another block

// Adds what the threads of each lane hold; the sum is the result of lane's thread in row 0. Thread = row * lanes + lane.
template <int lanes>
__device__ double sumOfRows(double value, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = sumThreads / 2; half >= lanes; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  const double sum = shared[threadIdx.x];
  __syncthreads();
  return sum;
}

// A block sums one slice of the terms of one group of `lanes` outputs; the last block of a group adds the slices.
template <int lanes, class Terms, class Finish>
__global__ void __launch_bounds__(sumThreads)
    sumSlices(std::int64_t outputs, std::int64_t length, std::int64_t slices, Partials* partials, Terms terms, Finish finish) {
  static_assert(lanes <= Partials::sumsPerBlock, "a block's sums fit their place");
  __shared__ double shared[sumThreads];
  __shared__ bool last;
  constexpr std::int64_t rows = sumThreads / lanes;
  const std::int64_t lane = threadIdx.x % lanes, row = threadIdx.x / lanes, slice = blockIdx.x % slices;
  const std::int64_t groups = (outputs + lanes - 1) / lanes;
  for (std::int64_t group = blockIdx.x / slices; group < groups; group += gridDim.x / slices) {
    const std::int64_t output = group * lanes + lane;
    double sum = 0;
    if (output < outputs) {
      const auto term = terms(output);
#pragma unroll 8
      for (std::int64_t k = slice * rows + row; k < length; k += slices * rows) sum += term(k);
    }
    sum = sumOfRows<lanes>(sum, shared);
    if (slices > 1) {
      volatile double* sums = partials->sums + group * slices * lanes;
      if (row == 0) sums[slice * lanes + lane] = sum;
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) last = atomicAdd(&partials->arrived[group], 1U) == static_cast<unsigned>(slices - 1);
      __syncthreads();
      if (!last) continue;
      __threadfence();
      sum = 0;
      for (std::int64_t k = row; k < slices; k += rows) sum += sums[k * lanes + lane];
      sum = sumOfRows<lanes>(sum, shared);
      if (threadIdx.x == 0) partials->arrived[group] = 0;
    }
    if (row == 0 && output < outputs) finish(output, sum);
  }
}

// finish(output, sum of terms(output)(k) over all k below `length`) for every output. `lanes` outputs are summed side by side: 32 where
// their terms lie next to each other, 1 where those of one output do.
template <int lanes, class Terms, class Finish>
void forEachSum(const Context& context, const char* name, std::int64_t outputs, std::int64_t length, const Terms& terms,
                const Finish& finish) {
  const std::int64_t groups = (outputs + lanes - 1) / lanes;
  const std::int64_t worthwhile = (length + termsPerThread * (sumThreads / lanes) - 1) / (termsPerThread * (sumThreads / lanes));
  const std::int64_t slices = std::max<std::int64_t>(1, std::min(Partials::blocks / groups, worthwhile));
  const std::int64_t blocks = slices > 1 ? groups * slices : std::min<std::int64_t>(groups, std::int64_t{1} << 20);
  launchKernel(context, name, sumSlices<lanes, Terms, Finish>, blocks, sumThreads, outputs, length, slices, context.partials, terms,
               finish);
}

// Numbers at equal distances, in double.
struct StridedTerms {
  const float* first;
  std::int64_t stride;
  __device__ double operator()(std::int64_t k) const { return static_cast<double>(first[k * stride]); }
};

}  // namespace tilefold::cuda
