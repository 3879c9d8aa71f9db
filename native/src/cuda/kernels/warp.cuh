// Threads of a warp that work on one thing together.
#pragma once

namespace tilefold::cuda {

constexpr int warpThreads = 32;

// The value of the thread whose number differs in the bits of `mask`. All threads of a block take
// part.
template <class T>
__device__ T shuffleXor(const T& value, int mask) {
  return __shfl_xor_sync(0xFFFFFFFFU, value, mask);
}

}  // namespace tilefold::cuda
