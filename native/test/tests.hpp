#pragma once
#include <string>

#include "device.hpp"

namespace tilefold::test {

// Each prints what failed and returns how often.
int compareDevice(const std::string& name, Device& device, int rounds);
int fuzzPrograms(const std::string& name, Device& device, int programs);
int checkHostileKernels(const std::string& name, Device& device);
int checkArena();

}  // namespace tilefold::test
