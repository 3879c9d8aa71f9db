#include "mpi_network.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "../failure.hpp"
#include "../threads/worker.hpp"

namespace tilefold {
namespace {

using Clock = std::chrono::steady_clock;

// MPI would spin for as long as it waits, and take from what computes: after this long a rank
// sleeps between two looks.
constexpr std::chrono::microseconds spins{50}, sleeps{50};
// A message is cut, so that no implementation's limit of 2^31 - 1 bytes is met.
constexpr std::size_t mostBytes = std::size_t{1} << 30;

class MpiNetwork : public Network {
 public:
  MpiNetwork(MpiKind kind, const std::string& path) {
    // One thread calls MPI, from beginning to end.
    thread_.execute([&] {
      mpi_ = openMpiLibrary(kind, path);
      mpi_->start();
      rank_ = mpi_->rank();
      size_ = mpi_->size();
    });
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  bool exchange(const std::vector<RankBuffers>& parts, const std::function<bool()>& ended) override {
    bool finished = false;
    thread_.execute([&] {
      if (broken_) throw Failure("an exchange of this rank with others was not finished");
      broken_ = true;
      post(parts);
      const auto begun = Clock::now();
      while (!(finished = mpi_->done())) {
        if (ended()) return;
        refuseLate(begun, [&] { return mpi_->missing(); });
        if (Clock::now() - begun > spins) std::this_thread::sleep_for(sleeps);
      }
      broken_ = false;
    });
    return finished;
  }

  void leave(int status) override {
    thread_.execute([&] {
      if (status != 0 || broken_)
        mpi_->abort(std::max(status, 1));
      else
        mpi_->finish();
    });
  }

 private:
  void post(const std::vector<RankBuffers>& parts) {
    for (int rank = 0; rank < size_; ++rank) {
      const RankBuffers& part = parts[static_cast<std::size_t>(rank)];
      if (rank == rank_) continue;
      for (std::size_t at = 0; at < part.receiveBytes; at += mostBytes)
        mpi_->receive(part.receive + at, std::min(mostBytes, part.receiveBytes - at), rank);
    }
    for (int rank = 0; rank < size_; ++rank) {
      const RankBuffers& part = parts[static_cast<std::size_t>(rank)];
      if (rank == rank_) {
        if (part.sendBytes > 0) std::memcpy(part.receive, part.send, part.sendBytes);
        continue;
      }
      for (std::size_t at = 0; at < part.sendBytes; at += mostBytes)
        mpi_->send(part.send + at, std::min(mostBytes, part.sendBytes - at), rank);
    }
  }

  std::unique_ptr<MpiLibrary> mpi_;
  int rank_ = 0, size_ = 1;
  bool broken_ = false;  // of the thread: messages are on their way, perhaps for good
  Worker thread_{1};
};

}  // namespace

std::shared_ptr<Network> makeMpiNetwork(MpiKind kind, const std::string& path) { return std::make_shared<MpiNetwork>(kind, path); }

}  // namespace tilefold
