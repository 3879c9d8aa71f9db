#include "rank_link.hpp"

#include <algorithm>
#include <thread>

namespace tilefold::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* running = "running a section";
// A thread that spins would take from what computes on the host.
constexpr std::chrono::microseconds spins{50}, sleeps{50};

}  // namespace

bool RankLink::exchange(Network& network, const std::vector<RankBuffers>& parts, const Progress& progress) {
  if (!exchange_) {
    network_ = &network;
    exchange_ = makeRankExchange(network, progress);
    if (!exchange_) return false;
  }
  isUnderWay_ = true;
  return exchange_->exchange(parts, stream(), progress);
}

bool RankLink::wait(cudaStream_t stream, const Progress& progress) {
  if (!isUnderWay_ || !exchange_ || !exchange_->queues()) {
    check(cudaStreamSynchronize(stream), running);
    return true;
  }
  const Clock::time_point begun = Clock::now();
  while (true) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaErrorNotReady) {
      check(status, running);
      return true;
    }
    static_cast<void>(cudaGetLastError());  // is not the next launch's
    if (!exchange_->watch(begun, progress)) {
      isUnderWay_ = false;
      return false;
    }
    if (Clock::now() - begun > spins) std::this_thread::sleep_for(sleeps);
  }
}

bool RankLink::agree(bool own, const Progress& progress) const {
  if (network_ == nullptr) return own;
  const auto all = gatherUnless(*network_, {std::byte{own}}, [&progress] { return progress.ended(); });
  return all && std::all_of(all->begin(), all->end(), [](const std::vector<std::byte>& one) { return one.front() == std::byte{1}; });
}

void RankLink::abandon(bool isCaptured) noexcept {
  if (isUnderWay_ && !isCaptured && exchange_) exchange_->abort();
  isUnderWay_ = false;
}

}  // namespace tilefold::cuda
