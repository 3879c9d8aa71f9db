// What a profile measures: single launches of kernels, and the link between arena and host.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "../program/program.hpp"

namespace tilefold {

// Of each kernel the milliseconds of one launch, the median of repeated ones, or why there are
// none: the device refuses it, or lacks the memory for it. All that load no image share one arena
// that is as large as the largest needs.
std::vector<std::variant<double, std::string>> timeKernels(const std::vector<Kernel>& kernels, Device& device);

// Bytes a second of a copy engine by itself.
double timeCopy(Device& device, Engine engine);

}  // namespace tilefold
