// How far the engines of a run have come, and whether it is to end: what its threads share.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "../program/program.hpp"

namespace tilefold {

class Progress {
 public:
  // Before a run: from here on, end() ends it.
  void begin() { ended_ = false; }
  // Any thread: every engine of the run ends before its next instruction.
  void end();
  bool ended() const { return ended_.load(std::memory_order_relaxed); }

  // Nothing has been reached yet. Before the engines start.
  void expect(std::size_t events);
  // The engine has come to one of its records of the event.
  void reach(std::size_t event, Engine engine);
  // Waits until the engine has reached its records of the event that often; false when the run
  // ended first.
  bool await(std::size_t event, Engine engine, std::uint64_t times);
  // False when the run ended first.
  bool sleepUntil(std::chrono::steady_clock::time_point time);

 private:
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PerEngine<std::uint64_t>> reached_;
};

}  // namespace tilefold
