// Grids of kernels that stride over their elements.
#pragma once
#include <algorithm>
#include <cstdint>

namespace tilefold::cuda {

constexpr unsigned threads = 256;  // of a block

// As many blocks as elements need, up to what fills any device several times over.
inline unsigned blocksFor(std::int64_t count) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((count + threads - 1) / threads, 1, std::int64_t{1} << 14));
}

inline bool aligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }

__device__ inline std::uint64_t firstIndex() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline std::uint64_t indexStep() { return std::uint64_t{gridDim.x} * blockDim.x; }

}  // namespace tilefold::cuda
