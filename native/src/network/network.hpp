// The processes that train together, as one of them sees them: each is a rank, counted from 0.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilefold {

// What goes to one rank, and what comes from it.
struct RankBuffers {
  const std::byte* send = nullptr;
  std::size_t sendBytes = 0;
  std::byte* receive = nullptr;
  std::size_t receiveBytes = 0;
};

class Network {
 public:
  virtual ~Network() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // With every rank, this one included: one element each. Every rank calls it as often, in the same
  // order, and receives as many bytes as it is sent. One caller at a time. Throws Failure. False
  // when `ended` said so first: then ranks no longer agree, and every later call throws.
  virtual bool exchange(const std::vector<RankBuffers>& parts, const std::function<bool()>& ended) = 0;
  // Ends this rank's part. `status` 0: once all ranks do. Else every rank is ended, with that exit
  // status where the launcher can.
  virtual void leave(int status) = 0;

  // The most milliseconds that any later exchange waits for a rank: then it throws Failure, which
  // names those that hang. 0: for ever, as at first. Any thread.
  void limitWaits(std::int64_t milliseconds) { mostMilliseconds_ = milliseconds; }
  // That limit in words, where more has passed since `begun`: of who waits by other means.
  std::optional<std::string> lateness(std::chrono::steady_clock::time_point begun) const;

 protected:
  // Throws Failure where a rank that has waited since `begun` is to give up; `missing` finds those
  // that have not come. The first of the others gives up first, so that one says why all end.
  void refuseLate(std::chrono::steady_clock::time_point begun, const std::function<std::vector<int>()>& missing) const;

 private:
  std::atomic<std::int64_t> mostMilliseconds_{0};
};

// What every rank gives, by rank; messages of any length.
std::vector<std::vector<std::byte>> gather(Network& network, const std::vector<std::byte>& own);
// The same; nothing when `ended` said so first, as of exchange.
std::optional<std::vector<std::vector<std::byte>>> gatherUnless(Network& network, const std::vector<std::byte>& own,
                                                                const std::function<bool()>& ended);

// Nanoseconds of each of so many exchanges, one after the other: every rank sends so many bytes to
// the one that is `distance` further, and receives as many. Every rank calls it alike. Throws
// Failure.
std::vector<double> timeExchanges(Network& network, std::int64_t bytes, std::int64_t distance, std::int64_t times);

}  // namespace tilefold
