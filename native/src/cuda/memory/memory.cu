#include "../kernels/grid.cuh"
#include "../kernels/launch.cuh"
#include "memory.hpp"

namespace tilefold::cuda {
namespace {

unsigned blocksOf(std::size_t bytes) { return blocksFor(static_cast<std::int64_t>(bytes / sizeof(std::uint64_t))); }

__device__ std::uint64_t pattern(std::size_t word) { return (static_cast<std::uint64_t>(word) + 1) * 0x9E3779B97F4A7C15u; }

__device__ unsigned char patternByte(std::size_t at) {
  return static_cast<unsigned char>(pattern(at / sizeof(std::uint64_t)) >> (8 * (at % sizeof(std::uint64_t))));
}

__global__ void fill(std::byte* memory, std::size_t bytes) {
  const std::size_t step = indexStep(), words = bytes / sizeof(std::uint64_t);
  auto* const out = reinterpret_cast<std::uint64_t*>(memory);
  const std::size_t first = firstIndex();
  for (std::size_t i = first; i < words; i += step) out[i] = pattern(i);
  for (std::size_t at = words * sizeof(std::uint64_t) + first; at < bytes; at += step) memory[at] = static_cast<std::byte>(patternByte(at));
}

__global__ void find(const std::byte* memory, std::size_t bytes, unsigned long long* found) {
  const std::size_t step = indexStep(), words = (bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);
  unsigned long long highest = 0;
  for (std::size_t i = firstIndex(); i < words; i += step) {
    const std::size_t start = i * sizeof(std::uint64_t), end = start + sizeof(std::uint64_t) < bytes ? start + sizeof(std::uint64_t) : bytes;
    if (end - start == sizeof(std::uint64_t) && reinterpret_cast<const std::uint64_t*>(memory)[i] == pattern(i)) continue;
    for (std::size_t at = end; at > start; --at)
      if (static_cast<unsigned char>(memory[at - 1]) != patternByte(at - 1)) {
        highest = at > highest ? at : highest;
        break;
      }
  }
  if (highest > 0) atomicMax(found, highest);
}

}  // namespace

void fillPattern(cudaStream_t stream, std::byte* memory, std::size_t bytes) {
  launchGrid(stream, "the arena's pattern", fill, blocksOf(bytes), threads, memory, bytes);
}

std::size_t highestChange(cudaStream_t stream, const std::byte* memory, std::size_t bytes, unsigned long long* found) {
  check(cudaMemsetAsync(found, 0, sizeof(*found), stream), "clearing a word");
  launchGrid(stream, "the search for the arena's peak", find, blocksOf(bytes), threads, memory, bytes, found);
  unsigned long long highest = 0;
  check(cudaMemcpyAsync(&highest, found, sizeof(highest), cudaMemcpyDeviceToHost, stream), "reading the peak");
  check(cudaStreamSynchronize(stream), "looking for the peak");
  return static_cast<std::size_t>(highest);
}

}  // namespace tilefold::cuda
