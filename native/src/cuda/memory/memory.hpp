// Memory of the device, and memory of the machine that the device reads and writes too (pinned).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "../context/check.hpp"

namespace tilefold::cuda {

struct FreeDevice {
  void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};
struct FreePinned {
  void operator()(void* memory) const { static_cast<void>(cudaFreeHost(memory)); }
};

template <class T>
using DeviceMemory = std::unique_ptr<T, FreeDevice>;
template <class T>
using PinnedMemory = std::unique_ptr<T, FreePinned>;

// `count` elements, of at least one byte. Throw NoMemory.
template <class T>
DeviceMemory<T> deviceMemory(std::size_t count, const char* what) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count == 0 ? 1 : count * sizeof(T)), what);
  return DeviceMemory<T>(static_cast<T*>(memory));
}
template <class T>
PinnedMemory<T> pinnedMemory(std::size_t count, const char* what) {
  void* memory = nullptr;
  const std::size_t bytes = count == 0 ? 1 : count * sizeof(T);
  const cudaError_t status = cudaMallocHost(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    throw NoMemory(std::string("CUDA: ") + what + " failed (this machine has no " + std::to_string(bytes) +
                   " bytes to pin): keep more on the device with a larger --budget, or swap less with a smaller --host-budget");
  }
  check(status, what);
  return PinnedMemory<T>(static_cast<T*>(memory));
}

// Writes a pattern of which every word differs, and finds one past the highest byte that differs
// from it since. `found` is one word on the device.
void fillPattern(cudaStream_t stream, std::byte* memory, std::size_t bytes);
std::size_t highestChange(cudaStream_t stream, const std::byte* memory, std::size_t bytes, unsigned long long* found);

}  // namespace tilefold::cuda
