// Small sound kernels of every kind, in plain layouts; and the same kernel in a device's layouts.
#pragma once
#include <random>
#include <vector>

#include "device.hpp"
#include "kernels/kernel_fields.hpp"

namespace tilefold::test {

using Random = std::mt19937_64;

// Uniform in least .. most.
std::int64_t number(Random& random, std::int64_t least, std::int64_t most);

Kernel randomKernel(KernelKind kind, Random& random);
// A GPU has none that normalise on load, nor has a processor where oneDNN has no such products.
bool hasKernel(KernelKind kind, Device& device);

// What small ones seldom reach: sums over many threads, long rows, windows that tile their input,
// shapes that make whole vectors.
std::vector<Kernel> largeKernels();

// Convolutions and weights in the device's own layouts, other activations in any.
Kernel inLayouts(const Kernel& plain, Device& device, Random& random);

inline const int kernelKindCount = static_cast<int>(kernelTable().size());

}  // namespace tilefold::test
