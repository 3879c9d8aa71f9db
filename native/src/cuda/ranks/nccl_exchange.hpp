// Exchanges between GPUs by NCCL, opened at run time: queued on a stream, and captured with it.
#pragma once
#include <memory>
#include <string>

#include "../libraries/nccl_api.hpp"
#include "rank_exchange.hpp"

namespace tilefold::cuda {

// NCCL's library, found as cuDNN is, or in the folder that TILEFOLD_NCCL_PATH names. Throws Failure
// where it is missing, lacks a function or is too old.
nccl::Api openNccl();

// Throws Failure, which names the rank and the call, unless it succeeded or has begun.
void check(const nccl::Api& api, nccl::Result result, const char* call, int rank, nccl::Communicator communicator = nullptr);

// Waits for all ranks to come. Null when the run ended first. Throws Failure.
std::unique_ptr<RankExchange> makeNcclExchange(Network& network, const nccl::Api& api, const nccl::UniqueId& id, const Progress& progress);

}  // namespace tilefold::cuda
