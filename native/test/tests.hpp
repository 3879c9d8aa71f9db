#pragma once
#include <string>

#include "device.hpp"

namespace tilefold::test {

// Products are matrices' and convolutions'; small ones are drawn, all have the large ones too.
enum class Kernels { all, products, small };

// Each prints what failed and returns how often. `ofProducts`: the largest difference of products
// from the reference, relative to 1 plus its value; those of others agree within 2e-5.
int compareDevice(const std::string& name, Device& device, int rounds, Kernels compared, double ofProducts);
int fuzzPrograms(const std::string& name, Device& device, int programs);
int checkLabels(const std::string& name, Device& device);
// Of a device that computes in bf16.
int checkPooledSums(const std::string& name, Device& device);
int checkHostileKernels(const std::string& name, Device& device);
// Tiles of resized and pooled tensors against the whole, bit by bit.
int checkResampledTiles(const std::string& name, Device& device, int rounds);
int checkArena();
int checkAvailableMemory();
int checkExponential();

}  // namespace tilefold::test
