// The one place where kernels are launched.
#pragma once
#include "check.hpp"

namespace tilefold::cuda {

// Enqueues kernel(arguments...). Not by <<<>>>, which is no C++: tests compile kernels for the
// processor too (test/emulated_cuda).
template <class... Parameters, class... Arguments>
void launchGrid(cudaStream_t stream, const char* name, void (*kernel)(Parameters...), dim3 blocks, unsigned threads,
                const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = dim3(threads);
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, arguments...), name);
}

}  // namespace tilefold::cuda
