// A rank without others: they give back what they are sent, as if they ran the same on its numbers.
#pragma once
#include <cstring>

#include "failure.hpp"
#include "network/network.hpp"

namespace tilefold::test {

// Of so many ranks are programs that exchange with ranks, and which of them runs: neither the first
// nor the last of its group, or of all, wherever groups have a middle.
constexpr int mirrorRanks = 6, mirrorRank = 4;

class MirrorNetwork : public Network {
 public:
  explicit MirrorNetwork(int size) : size_(size) {}
  int rank() const override { return mirrorRank; }
  int size() const override { return size_; }

  bool exchange(const std::vector<RankBuffers>& parts, const std::function<bool()>&) override {
    for (const RankBuffers& part : parts) {
      if (part.sendBytes != part.receiveBytes) throw Failure("a rank sends other bytes than are received");
      if (part.receiveBytes > 0) std::memcpy(part.receive, part.send, part.receiveBytes);
    }
    return true;
  }
  void leave(int) override {}

 private:
  int size_;
};

}  // namespace tilefold::test
