// One thread for everything that a session computes: OpenMP keeps a team of threads for each thread
// that asks, so there is but one.
#pragma once
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace tilefold {

class Worker {
 public:
  // `threads`: how many an OpenMP loop uses. Throws Failure when it is outside 1 .. 1024, NoThreads
  // when this process may not make so many.
  explicit Worker(std::int64_t threads);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Runs `job` on the thread and waits for it; what it throws is thrown here. Callers take turns.
  // `meanwhile` is called every tenth of a second until then, and throws nothing.
  void execute(const std::function<void()>& job, const std::function<void()>& meanwhile = [] {});
  // The same without waiting. For a sole caller, who waits for the job before the next.
  std::future<void> start(const std::function<void()>& job);

 private:
  void serve(int threads);

  std::mutex turn_, mutex_;
  std::condition_variable changed_;
  std::packaged_task<void()> job_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tilefold
