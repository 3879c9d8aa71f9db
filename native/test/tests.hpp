#pragma once
#include <string>

#include "device.hpp"

namespace tilefold::test {

// Each prints what failed and returns how often.
// `tolerance`: of a difference from the reference, relative to 1 plus its value.
int compareDevice(const std::string& name, Device& device, int rounds, double tolerance = 2e-5);
int fuzzPrograms(const std::string& name, Device& device, int programs);
int checkHostileKernels(const std::string& name, Device& device);
// Tiles of resized and pooled tensors against the whole, bit by bit.
int checkResampledTiles(const std::string& name, Device& device, int rounds);
int checkArena();

}  // namespace tilefold::test
