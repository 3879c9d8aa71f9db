#include <cstring>

#include "../context/check.hpp"
#include "rank_exchange.hpp"

namespace tilefold::cuda {
namespace {

// Through memory of the host, by the network itself: what comes before is waited for.
class HostExchange : public RankExchange {
 public:
  explicit HostExchange(Network& network) : network_(network) {}

  bool exchange(const std::vector<RankBuffers>& parts, cudaStream_t stream, const Progress& progress) override {
    std::size_t bytes = 0;
    for (const RankBuffers& part : parts) bytes += part.sendBytes + part.receiveBytes;
    if (memory_.size() < bytes) memory_.resize(bytes);
    std::vector<RankBuffers> staged = parts;
    std::byte* next = memory_.data();
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      staged[rank].send = next;
      if (parts[rank].sendBytes > 0)
        check(cudaMemcpyAsync(next, parts[rank].send, parts[rank].sendBytes, cudaMemcpyDeviceToHost, stream), copying);
      next += parts[rank].sendBytes;
      staged[rank].receive = next;
      next += parts[rank].receiveBytes;
    }
    check(cudaStreamSynchronize(stream), copying);
    if (!network_.exchange(staged, [&progress] { return progress.ended(); })) return false;
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      if (parts[rank].receiveBytes > 0)
        check(cudaMemcpyAsync(parts[rank].receive, staged[rank].receive, parts[rank].receiveBytes, cudaMemcpyHostToDevice, stream),
              copying);
    check(cudaStreamSynchronize(stream), copying);
    return true;
  }

  bool queues() const override { return false; }
  bool watch(std::chrono::steady_clock::time_point, const Progress&) override { return true; }
  void abort() noexcept override {}

 private:
  static constexpr const char* copying = "copying what ranks exchange";

  Network& network_;
  std::vector<std::byte> memory_;
};

}  // namespace

std::unique_ptr<RankExchange> makeHostExchange(Network& network) { return std::make_unique<HostExchange>(network); }

}  // namespace tilefold::cuda
