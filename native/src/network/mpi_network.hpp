// Ranks that MPI's launcher started, one a process.
#pragma once
#include <memory>
#include <string>

#include "mpi_library.hpp"
#include "network.hpp"

namespace tilefold {

// Waits until all ranks are there. One a process, since MPI starts once; the launcher ends
// processes that end without leave(). Throws Failure.
std::shared_ptr<Network> makeMpiNetwork(MpiKind kind, const std::string& path);

}  // namespace tilefold
