// Sums of many terms in double, in an order that the shape and the operands' alignment decide:
// threads, then blocks, then the blocks' partial sums.
#pragma once
#include <type_traits>

#include "element_loop.cuh"

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

// How a sum passes from block to block, and how many terms are loaded before the first is added:
// what registers hold.
template <class Sum>
struct Parts;
template <>
struct Parts<double> {
  static constexpr int count = 1, loadsAhead = 8;
  static __device__ void put(volatile double* place, double sum) { *place = sum; }
  static __device__ double get(const volatile double* place) { return *place; }
};
template <int n>
struct Parts<Sums<n>> {
  static constexpr int count = n, loadsAhead = n == 2 ? 4 : 3;
  static __device__ void put(volatile double* place, const Sums<n>& sum) {
    for (int k = 0; k < n; ++k) place[k] = sum.values[k];
  }
  static __device__ Sums<n> get(const volatile double* place) {
    Sums<n> sum;
    for (int k = 0; k < n; ++k) sum.values[k] = place[k];
    return sum;
  }
};

// Adds what the threads of each lane hold; the sum is the result of lane's thread in row 0. Thread
// = row * lanes + lane.
template <int lanes, class Sum>
__device__ Sum sumOfRows(const Sum& value, Sum* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = sumThreads / 2; half >= lanes; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  const Sum sum = shared[threadIdx.x];
  __syncthreads();
  return sum;
}

// A block sums one slice of the terms of one group of `lanes` outputs; the last block of a group
// adds the slices.
template <int lanes, class Terms, class Finish>
__global__ void __launch_bounds__(sumThreads)
    sumSlices(std::int64_t outputs, std::int64_t length, std::int64_t slices, Partials* partials, Terms terms, Finish finish) {
  using Sum = std::decay_t<decltype(terms(std::int64_t{})(std::int64_t{}))>;
  constexpr int parts = Parts<Sum>::count;
  static_assert(lanes * parts <= Partials::sumsPerBlock, "a block's sums fit their place");
  __shared__ Sum shared[sumThreads];
  __shared__ bool last;
  constexpr std::int64_t rows = sumThreads / lanes;
  const std::int64_t lane = threadIdx.x % lanes, row = threadIdx.x / lanes, slice = blockIdx.x % slices;
  const std::int64_t groups = (outputs + lanes - 1) / lanes;
  for (std::int64_t group = blockIdx.x / slices; group < groups; group += gridDim.x / slices) {
    const std::int64_t output = group * lanes + lane;
    Sum sum{};
    if (output < outputs) {
      const auto term = terms(output);
#pragma unroll Parts<Sum>::loadsAhead
      for (std::int64_t k = slice * rows + row; k < length; k += slices * rows) sum += term(k);
    }
    sum = sumOfRows<lanes>(sum, shared);
    if (slices > 1) {
      volatile double* sums = partials->sums + group * slices * lanes * parts;
      if (row == 0) Parts<Sum>::put(sums + (slice * lanes + lane) * parts, sum);
      __threadfence();
      __syncthreads();
      if (threadIdx.x == 0) last = atomicAdd(&partials->arrived[group], 1U) == static_cast<unsigned>(slices - 1);
      __syncthreads();
      if (!last) continue;
      __threadfence();
      sum = Sum{};
      for (std::int64_t k = row; k < slices; k += rows) sum += Parts<Sum>::get(sums + (k * lanes + lane) * parts);
      sum = sumOfRows<lanes>(sum, shared);
      if (threadIdx.x == 0) partials->arrived[group] = 0;
    }
    if (row == 0 && output < outputs) finish(output, sum);
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
