// Every call of the CUDA runtime is checked.
#pragma once
#include <cuda_runtime_api.h>

#include <string>

#include "../../failure.hpp"

namespace tilefold::cuda {

// Throws Failure, naming what was tried, unless the call succeeded.
inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // is not the next launch's
  const std::string sentence = std::string("CUDA: ") + what + " failed (" + cudaGetErrorString(status) + ")";
  if (status == cudaErrorMemoryAllocation) throw NoMemory(sentence + ": give a budget, or a smaller one");
  throw Failure(sentence);
}

}  // namespace tilefold::cuda
