#include "local_network.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>

#include "../failure.hpp"

namespace tilefold {
namespace {

// How long a rank sleeps before it looks whether its run was ended.
constexpr std::chrono::milliseconds lookEvery{10};

// What the ranks share: a barrier, and where each has its parts.
class Group {
 public:
  explicit Group(int size) : posted_(static_cast<std::size_t>(size)), isHere_(posted_.size()) {}

  std::size_t size() const { return posted_.size(); }
  void post(int rank, const std::vector<RankBuffers>& parts) { posted_[static_cast<std::size_t>(rank)] = &parts; }
  const std::vector<RankBuffers>& of(std::size_t rank) const { return *posted_[rank]; }

  // Until all ranks are here. False when `ended` said so first. `refuseLate` looks at those that
  // are missing, and may throw.
  bool meet(int rank, const std::function<bool()>& ended, const std::function<void(const std::vector<int>&)>& refuseLate) {
    std::unique_lock<std::mutex> lock(mutex_);
    refuseAfterEnd();
    const std::uint64_t round = round_;
    isHere_[static_cast<std::size_t>(rank)] = true;
    arrive();
    while (round_ == round) {
      refuseAfterEnd();
      changed_.wait_for(lock, lookEvery);
      if (round_ != round) break;
      try {
        refuseLate(missing());
      } catch (const Failure& failure) {
        end(failure.what());
        throw;
      }
      if (ended()) {
        end("a rank was interrupted");
        return false;
      }
    }
    return true;
  }

  // The same of ranks that have met, and all come: what one has posted stays until then.
  void meetAgain() {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t round = round_;
    arrive();
    changed_.wait(lock, [&] { return round_ != round; });
  }

  void leave(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    end("rank " + std::to_string(rank) + " has ended");
  }

 private:
  void arrive() {
    if (++arrived_ < posted_.size()) return;
    arrived_ = 0;
    isHere_.assign(isHere_.size(), false);
    ++round_;
    changed_.notify_all();
  }
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < isHere_.size(); ++rank)
      if (!isHere_[rank]) ranks.push_back(static_cast<int>(rank));
    return ranks;
  }
  void refuseAfterEnd() const {
    if (why_) throw Failure(*why_);
  }
  void end(const std::string& why) {
    if (!why_) why_ = why;
    changed_.notify_all();
  }

  std::vector<const std::vector<RankBuffers>*> posted_;
  std::vector<bool> isHere_;  // by rank, of those that are to meet
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t arrived_ = 0;
  std::uint64_t round_ = 0;
  std::optional<std::string> why_;  // nobody meets any more
};

class LocalNetwork : public Network {
 public:
  LocalNetwork(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(group_->size()); }

  bool exchange(const std::vector<RankBuffers>& parts, const std::function<bool()>& ended) override {
    const Turn turn(*this);
    group_->post(rank_, parts);
    const auto begun = std::chrono::steady_clock::now();
    const auto refuse = [&](const std::vector<int>& missing) { refuseLate(begun, [&] { return missing; }); };
    if (!group_->meet(rank_, ended, refuse)) return false;
    std::optional<std::string> fault;
    for (std::size_t rank = 0; rank < group_->size(); ++rank) {
      const RankBuffers& theirs = group_->of(rank)[static_cast<std::size_t>(rank_)];
      const RankBuffers& mine = parts[rank];
      if (theirs.sendBytes != mine.receiveBytes)
        fault = "rank " + std::to_string(rank_) + " receives " + std::to_string(mine.receiveBytes) + " bytes of rank " +
                std::to_string(rank) + ", which sends " + std::to_string(theirs.sendBytes);
      else if (mine.receiveBytes > 0)
        std::memcpy(mine.receive, theirs.send, mine.receiveBytes);
    }
    group_->meetAgain();
    if (fault) throw Failure(*fault);
    return true;
  }

  void leave(int status) override {
    if (status != 0) group_->leave(rank_);
  }

 private:
  // Two exchanges of one rank would pass for those of two ranks.
  class Turn {
   public:
    explicit Turn(LocalNetwork& network) : isTaken_(network.isExchanging_) {
      if (isTaken_.exchange(true))
        throw Failure("rank " + std::to_string(network.rank_) + " is exchanging with the others already: wait for it");
    }
    ~Turn() { isTaken_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<bool>& isTaken_;
  };

  std::shared_ptr<Group> group_;
  int rank_;
  std::atomic<bool> isExchanging_{false};
};

}  // namespace

std::vector<std::shared_ptr<Network>> makeLocalNetworks(int size) {
  if (size < 1 || size > 64) throw Failure("a process has 1 to 64 ranks, not " + std::to_string(size));
  const auto group = std::make_shared<Group>(size);
  std::vector<std::shared_ptr<Network>> networks;
  for (int rank = 0; rank < size; ++rank) networks.push_back(std::make_shared<LocalNetwork>(group, rank));
  return networks;
}

}  // namespace tilefold
