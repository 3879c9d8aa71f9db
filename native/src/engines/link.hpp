// One direction between the device and the host pool: a thread that copies, no faster than it is
// told. As fast as the memory is takes several: one alone does not reach half of what two cores
// move.
#pragma once
#include <chrono>
#include <memory>
#include <vector>

#include "../threads/worker.hpp"
#include "engines.hpp"
#include "progress.hpp"

namespace tilefold {

// Throws Failure unless it is a rate of at least one byte per second, or 0: as fast as the memory
// is.
void checkLinkRate(double bytesPerSecond);

class Link {
 public:
  // A checked rate; as many threads copy where there is no limit.
  Link(double bytesPerSecond, int threads);

  Worker& thread() { return thread_; }
  // On the link's thread. False when the run ended first.
  bool copy(const Rows& from, const Rows& to, std::int64_t rows, std::int64_t rowBytes, Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  bool copyPaced(const Rows& from, const Rows& to, std::int64_t rows, std::int64_t rowBytes, Progress& progress);
  bool pace(std::int64_t bytes, Progress& progress);

  double bytesPerSecond_;
  Clock::time_point due_, rested_;  // when the last copy should have ended, and when it did
  Worker thread_{1};
  std::vector<std::unique_ptr<Worker>> helpers_;
};

}  // namespace tilefold
