// Blocks of a kernel, one after another.
#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <random>

namespace tilefold::emulated {

// Of the thread that runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
// The same for all threads of a block between two barriers.
extern unsigned barriersPassed;

// Of a thread that waits for what others do: lets them go on, and tells that it waits no more.
// Where all threads of a block wait, one must have gone on in between.
void pause();
void awaited();

// Waits for the other threads of the block.
void barrier();
// Lets the other threads of the block go on until what they do has made `done()` true.
template <class Done>
void await(const Done& done) {
  if (done()) return;
  do pause();
  while (!done());
  awaited();
}

// Runs `thread` for every thread of every block of a grid; blocks in a random order, threads
// forward or backward. Throws std::runtime_error where a barrier is not reached by all threads of a
// block, or where all wait for each other.
void runBlocks(dim3 grid, dim3 block, const std::function<void()>& thread, std::mt19937& order);

// Enqueues a kernel, all of whose threads call `thread`.
cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> thread);

}  // namespace tilefold::emulated
