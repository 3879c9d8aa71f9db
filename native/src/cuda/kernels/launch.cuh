// The one place where kernels are launched.
#pragma once
#include "../context/check.hpp"

namespace tilefold::cuda {

// Enqueues kernel(arguments...), with bytes of shared memory for each block beside its own. Not by
// <<<>>>, which is no C++: tests compile kernels for the processor too (test/emulated_cuda).
template <class... Parameters, class... Arguments>
void launchSharing(cudaStream_t stream, const char* name, void (*kernel)(Parameters...), dim3 blocks, unsigned threads,
                   std::size_t sharedBytes, const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = sharedBytes;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}

template <class... Parameters, class... Arguments>
void launchGrid(cudaStream_t stream, const char* name, void (*kernel)(Parameters...), dim3 blocks, unsigned threads,
                const Arguments&... arguments) {
  launchSharing(stream, name, kernel, blocks, threads, 0, arguments...);
}

}  // namespace tilefold::cuda
