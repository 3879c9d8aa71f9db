// How bytes of a GPU's memory reach other ranks: by NCCL, or through the host.
#pragma once
#include <cuda_runtime_api.h>

#include <chrono>
#include <memory>
#include <vector>

#include "../../engines/progress.hpp"
#include "../../network/network.hpp"

namespace tilefold::cuda {

class RankExchange {
 public:
  virtual ~RankExchange() = default;

  // With every rank, as Network's: parts in the GPU's memory, in the order of `stream`. False when
  // the run ended first; then every later call throws. Throws Failure.
  virtual bool exchange(const std::vector<RankBuffers>& parts, cudaStream_t stream, const Progress& progress) = 0;
  // Whether exchanges are queued on the stream, so that they can be captured.
  virtual bool queues() const = 0;
  // Between two looks at a stream on which exchanges are under way since `begun`. False when the
  // run is to end: they end. Throws Failure for what has failed, or waits for too long.
  virtual bool watch(std::chrono::steady_clock::time_point begun, const Progress& progress) = 0;
  // Ends what is under way; every later exchange throws.
  virtual void abort() noexcept = 0;
};

// Every rank calls it alike, with its GPU current. By NCCL, unless TILEFOLD_NCCL_PATH is `none` on
// all ranks: then through the host, by the network itself. Null when the run ended first. Throws
// Failure, on all ranks alike: where one lacks NCCL, where two have the same GPU, and where GPUs or
// transports differ.
std::unique_ptr<RankExchange> makeRankExchange(Network& network, const Progress& progress);

std::unique_ptr<RankExchange> makeHostExchange(Network& network);

}  // namespace tilefold::cuda
