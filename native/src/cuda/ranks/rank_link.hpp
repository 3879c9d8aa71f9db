// The network engine of a GPU: its stream, and how long others are waited for on it.
#pragma once
#include <memory>

#include "../launching/stream.hpp"
#include "rank_exchange.hpp"

namespace tilefold::cuda {

class RankLink {
 public:
  cudaStream_t stream() const { return stream_.get(); }

  // As RankExchange's; the first opens it.
  bool exchange(Network& network, const std::vector<RankBuffers>& parts, const Progress& progress);
  // Whether what it exchanges can be captured; nothing has told otherwise before the first.
  bool queues() const { return !exchange_ || exchange_->queues(); }
  // What a graph exchanges is under way.
  void replay() { isUnderWay_ = true; }
  // Until `stream` has come to its end, which others may be before. False when the run ended first.
  bool wait(cudaStream_t stream, const Progress& progress);
  // All that was exchanged is there.
  void end() { isUnderWay_ = false; }
  // Whether all ranks say so, and none has ended. Each asks as often.
  bool agree(bool own, const Progress& progress) const;
  // Ends exchanges that are under way, if any: those of a capture have not begun.
  void abandon(bool isCaptured) noexcept;

 private:
  Stream stream_ = makeStream();
  Network* network_ = nullptr;
  std::unique_ptr<RankExchange> exchange_;
  bool isUnderWay_ = false;
};

}  // namespace tilefold::cuda
