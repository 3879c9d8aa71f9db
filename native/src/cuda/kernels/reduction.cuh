// Sums of many terms in double, in an order that the shape and the operands' alignment decide:
// threads, then blocks, then the blocks' partial sums.
#pragma once
#include <type_traits>

#include "element_loop.cuh"
#include "warp.cuh"

namespace tilefold::cuda {

constexpr int sumThreads = 512;
constexpr std::int64_t termsPerThread = 16;

// Several sums of the same terms' pass.
template <int count>
struct Sums {
  double values[count];

  __device__ Sums& operator+=(const Sums& other) {
    for (int k = 0; k < count; ++k) values[k] += other.values[k];
    return *this;
  }
};

// The doubles that a sum is made of, as it passes from thread to thread, and how many terms are
// loaded before the first is added: what registers hold.
template <class Sum>
struct SumParts;
template <>
struct SumParts<double> {
  static constexpr int count = 1, loadsAhead = 8;
  static __device__ double& at(double& sum, int) { return sum; }
};
template <int n>
struct SumParts<Sums<n>> {
  static constexpr int count = n, loadsAhead = n == 2 ? 4 : 3;
  static __device__ double& at(Sums<n>& sum, int k) { return sum.values[k]; }
};

// Sums stand in memory part by part, so that neighbouring threads meet neighbouring words.
template <class Sum, class Double>
__device__ void putSum(Double* first, int distance, Sum sum) {
  for (int k = 0; k < SumParts<Sum>::count; ++k) first[k * distance] = SumParts<Sum>::at(sum, k);
}
template <class Sum, class Double>
__device__ Sum getSum(const Double* first, int distance) {
  Sum sum;
  for (int k = 0; k < SumParts<Sum>::count; ++k) SumParts<Sum>::at(sum, k) = first[k * distance];
  return sum;
}

constexpr int sumWarps = sumThreads / warpThreads;

// What sumOfRows shares: a sum of each lane and warp.
template <int lanes, class Sum>
constexpr int sharedDoubles = sumWarps * lanes * SumParts<Sum>::count;

// Adds what the threads of each lane hold; the sum is the result of lane's thread in row 0. Thread
// = row * lanes + lane.
template <int lanes, class Sum>
__device__ Sum sumOfRows(Sum sum, double* shared) {
  static_assert(warpThreads % lanes == 0, "a warp has whole rows");
  for (int mask = warpThreads / 2; mask >= lanes; mask /= 2) {
    Sum other;
    for (int k = 0; k < SumParts<Sum>::count; ++k) SumParts<Sum>::at(other, k) = shuffleXor(SumParts<Sum>::at(sum, k), mask);
    sum += other;
  }
  constexpr int places = sumWarps * lanes;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / warpThreads, lane = thread % warpThreads;
  if (lane < lanes) putSum(shared + warp * lanes + lane, places, sum);
  __syncthreads();
  for (int half = places / 2; half >= lanes; half /= 2) {
    if (thread < half) {
      sum = getSum<Sum>(shared + thread, places);
      sum += getSum<Sum>(shared + thread + half, places);
      putSum(shared + thread, places, sum);
    }
    __syncthreads();
  }
  return sum;
}

// Whether this block is the last of `blocks` that meet at `arrived`: it reads what all of them put
// into memory before.
__device__ inline bool lastToArrive(unsigned* arrived, std::int64_t blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(arrived, 1U) == static_cast<unsigned>(blocks - 1);
    if (last) *arrived = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

// The sum of all slices, which their blocks meet at `partials` for: of the last block, what
// sumOfRows gives; the others get none. `sum` is the slice's, as sumOfRows gave it.
template <int lanes, class Sum>
__device__ bool sumOfSlices(Sum& sum, std::int64_t group, std::int64_t slice, std::int64_t slices, Partials* partials, double* shared) {
  constexpr int parts = SumParts<Sum>::count, rows = sumThreads / lanes;
  static_assert(lanes * parts <= Partials::sumsPerBlock, "a block's sums fit their place");
  if (slices == 1) return true;
  const int lane = static_cast<int>(threadIdx.x) % lanes, row = static_cast<int>(threadIdx.x) / lanes;
  volatile double* const sums = partials->sums + group * slices * lanes * parts + lane;
  if (row == 0) putSum(sums + slice * lanes * parts, lanes, sum);
  if (!lastToArrive(&partials->arrived[group], slices)) return false;
  sum = Sum{};
  for (std::int64_t k = row; k < slices; k += rows) sum += getSum<Sum>(sums + k * lanes * parts, lanes);
  sum = sumOfRows<lanes>(sum, shared);
  return true;
}

// A block sums one slice of the terms of one group of `lanes` outputs; the last block of a group
// adds the slices.
template <int lanes, class Terms, class Finish>
__global__ void __launch_bounds__(sumThreads)
    sumSlices(std::int64_t outputs, std::int64_t length, std::int64_t slices, Partials* partials, Terms terms, Finish finish) {
  using Sum = std::decay_t<decltype(terms(std::int64_t{})(std::int64_t{}))>;
  __shared__ double shared[sharedDoubles<lanes, Sum>];
  constexpr std::int64_t rows = sumThreads / lanes;
  const std::int64_t lane = threadIdx.x % lanes, row = threadIdx.x / lanes, slice = blockIdx.x % slices;
  const std::int64_t groups = (outputs + lanes - 1) / lanes;
  for (std::int64_t group = blockIdx.x / slices; group < groups; group += gridDim.x / slices) {
    const std::int64_t output = group * lanes + lane;
    Sum sum{};
    if (output < outputs) {
      const auto term = terms(output);
#pragma unroll SumParts<Sum>::loadsAhead
      for (std::int64_t k = slice * rows + row; k < length; k += slices * rows) sum += term(k);
    }
    sum = sumOfRows<lanes>(sum, shared);
    if (sumOfSlices<lanes>(sum, group, slice, slices, partials, shared) && row == 0 && output < outputs) finish(output, sum);
  }
}

// finish(output, sum of terms(output)(k) over all k below `length`) for every output; a term is a
// double or Sums. `lanes` outputs are summed side by side: 32 where their terms lie next to each
// other, 1 where those of one output do. A thread sums `perThread` terms before another block is
// worth it.
template <int lanes, class Terms, class Finish>
void forEachSum(const Context& context, const char* name, std::int64_t outputs, std::int64_t length, const Terms& terms,
                const Finish& finish, std::int64_t perThread = termsPerThread) {
  const std::int64_t groups = (outputs + lanes - 1) / lanes, perBlock = perThread * (sumThreads / lanes);
  const std::int64_t worthwhile = (length + perBlock - 1) / perBlock;
  const std::int64_t slices = std::max<std::int64_t>(1, std::min(Partials::blocks / groups, worthwhile));
  const std::int64_t blocks = slices > 1 ? groups * slices : std::min<std::int64_t>(groups, std::int64_t{1} << 20);
  launchKernel(context, name, sumSlices<lanes, Terms, Finish>, blocks, sumThreads, outputs, length, slices, context.partials, terms,
               finish);
}

// Numbers at equal distances, in double.
template <class T>
struct StridedTerms {
  const T* first;
  std::int64_t stride;
  __device__ double operator()(std::int64_t k) const { return static_cast<double>(first[k * stride]); }
};

}  // namespace tilefold::cuda
