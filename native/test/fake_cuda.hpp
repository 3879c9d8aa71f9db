// CUDA's streams, events and graphs on the processor, as far as native/src/cuda/cuda_engines.cpp uses them: what is queued runs when
// somebody waits for it, streams in a random order that only events bind.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>

namespace tilefold::test {

// As a kernel's launch would be.
void enqueue(cudaStream_t stream, std::function<void()> work);

// Of the order of what is not ordered, from here on.
void shuffleStreams(unsigned seed);

// Graphs launched so far.
int graphsLaunched();

}  // namespace tilefold::test
