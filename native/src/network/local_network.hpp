// Ranks of one process, whose sessions run on threads of their own: what tests train with.
#pragma once
#include <memory>
#include <vector>

#include "network.hpp"

namespace tilefold {

// One network a rank. Throws Failure unless there are 1 to 64.
std::vector<std::shared_ptr<Network>> makeLocalNetworks(int size);

}  // namespace tilefold
