// A program on an NVIDIA GPU: the arena from the driver, the host pool pinned, four streams, and a
// graph of each section that runs again.
#pragma once
#include <memory>

#include "../engines/engines.hpp"
#include "context/context.hpp"

namespace tilefold::cuda {

// The context outlives them; its step and fault are set while they live, so a context has but one.
// Throws NoMemory or Failure.
std::unique_ptr<Engines> makeCudaEngines(const Spaces& spaces, double linkBytesPerSecond, Context& context);

}  // namespace tilefold::cuda
