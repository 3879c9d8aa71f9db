// What nvcc adds to C++, for compiling the cuda device's kernels (*.cu) by a compiler for the
// processor: forced in front of each of them. A block's threads are fibers that take turns at
// barriers; blocks run one after another, in an order that a seed shuffles (blocks.hpp).
#pragma once
#include <cuda_runtime_api.h>
#include <math.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "blocks.hpp"

#undef __device__
#undef __global__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#define __device__
#define __global__
#define __host__
// Blocks run one at a time, so one of each is enough.
#define __shared__ static
#define __launch_bounds__(...)

using tilefold::emulated::blockDim;
using tilefold::emulated::blockIdx;
using tilefold::emulated::gridDim;
using tilefold::emulated::threadIdx;

#include "warpgroup.hpp"

inline void __syncthreads() { tilefold::emulated::barrier(); }
inline void __threadfence() {}
// All threads of a block take part, as of a barrier.
inline void __syncwarp() { __syncthreads(); }

// Between threads of a warp; here all threads of a block take part, as of a barrier. Behind it the
// next values are others', so that a second one is not needed before they are written.
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  static T all[2][1024];
  T(&values)[1024] = all[tilefold::emulated::barriersPassed % 2];
  values[threadIdx.x] = value;
  __syncthreads();
  return values[threadIdx.x ^ static_cast<unsigned>(mask)];
}

// A thread is interrupted at barriers alone, so nothing comes between reading and writing.
template <class T>
T atomicAdd(T* address, T value) {
  return std::exchange(*address, *address + value);
}
template <class T>
T atomicMin(T* address, T value) {
  return std::exchange(*address, std::min(*address, value));
}
template <class T>
T atomicMax(T* address, T value) {
  return std::exchange(*address, std::max(*address, value));
}
template <class T>
T atomicExch(T* address, T value) {
  return std::exchange(*address, value);
}
template <class T>
T atomicCAS(T* address, T expected, T desired) {
  return std::exchange(*address, *address == expected ? desired : *address);
}

// As wide as the word, and aligned to it, which a sanitizer sees.
template <class Word>
void __stcg(Word* to, Word word) {
  *to = word;
}

inline float rsqrtf(float value) { return 1 / sqrtf(value); }
inline double rsqrt(double value) { return 1 / sqrt(value); }
inline float rsqrt(float value) { return rsqrtf(value); }

// The arguments are copied and become what the kernel's parameters are, as CUDA does it.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...), Arguments&&... arguments) {
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  return tilefold::emulated::launch(*config, [kernel, values] { std::apply(kernel, values); });
}
