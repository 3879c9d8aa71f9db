#include "progress.hpp"

namespace tilefold {

void Progress::end() {
  {
    // Without the lock, a thread that is about to sleep would miss it.
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

void Progress::expect(std::size_t events) { reached_.assign(events, {}); }

void Progress::reach(std::size_t event, Engine engine) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++of(reached_[event], engine);
  }
  changed_.notify_all();
}

bool Progress::await(std::size_t event, Engine engine, std::uint64_t times) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return ended() || of(reached_[event], engine) >= times; });
  return !ended();
}

bool Progress::sleepUntil(std::chrono::steady_clock::time_point time) {
  std::unique_lock<std::mutex> lock(mutex_);
  return !changed_.wait_until(lock, time, [this] { return ended(); });
}

}  // namespace tilefold
