// CUDA's streams, events, graphs and memory on the processor, as far as the cuda device uses them:
// what is queued runs when somebody waits for it, streams in a random order that only events bind.
// Device memory is the machine's, guarded on both sides (guarded_memory.hpp), so that who leaves it
// is seen.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>

namespace tilefold::emulated {

// As a kernel's launch would be. What throws is the error of whoever waits for it.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

// The same of what other threads take part in: it has begun, and ends when it says so.
cudaError_t enqueueExchange(cudaStream_t stream, std::function<void()> begin, std::function<bool()> isDone);

// Addresses of the device beside what cudaMalloc gives.
void addDeviceAddresses(const void* first, std::size_t bytes);
void removeDeviceAddresses(const void* first);

// Of the order of what is not ordered, from here on.
void shuffle(unsigned seed);

// The device's compute capability from here on; 9.0 at first.
void setComputeCapability(int major, int minor);

// Graphs launched so far, and kernels enqueued.
int graphsLaunched();
int kernelsLaunched();

}  // namespace tilefold::emulated
