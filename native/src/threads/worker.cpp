#include "worker.hpp"

#include <omp.h>

#include <chrono>
#include <system_error>
#include <vector>

#include "../failure.hpp"

namespace tilefold {
namespace {

// How many of so many threads can be made at once, before the system refuses one.
std::int64_t threadsThatCanBeMade(std::int64_t wanted) {
  std::vector<std::thread> made;
  std::promise<void> enough;
  const std::shared_future<void> end = enough.get_future().share();
  try {
    made.reserve(wanted);
    while (static_cast<std::int64_t>(made.size()) < wanted) made.emplace_back([end] { end.wait(); });
  } catch (const std::system_error&) {
    // As many as there are.
  }
  enough.set_value();
  for (std::thread& thread : made) thread.join();
  return static_cast<std::int64_t>(made.size());
}

int checkedThreads(std::int64_t threads) {
  if (threads < 1 || threads > 1024) throw Failure("a device runs with 1 to 1024 threads, not " + std::to_string(threads));
  // libgomp ends the process where it cannot have a thread.
  const std::int64_t made = threadsThatCanBeMade(threads);
  if (made < threads)
    throw NoThreads("the system lets this process make " + std::to_string(made) + " threads more, fewer than the " + std::to_string(threads) +
                    " asked for (ulimit -u or -v, or the pids of a cgroup): give fewer --threads, or raise the limit");
  // oneDNN's kernels wait for every thread that they asked for.
  if (threads > omp_get_thread_limit())
    throw NoThreads("the environment limits OpenMP to " + std::to_string(omp_get_thread_limit()) +
                  " threads (OMP_THREAD_LIMIT), fewer than the " + std::to_string(threads) + " asked for: raise it or ask for fewer");
  return static_cast<int>(threads);
}

}  // namespace

Worker::Worker(std::int64_t threads) : thread_([this, count = checkedThreads(threads)] { serve(count); }) {}

Worker::~Worker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::execute(const std::function<void()>& job, const std::function<void()>& meanwhile) {
  const std::lock_guard<std::mutex> turn(turn_);
  std::future<void> done = start(job);
  while (done.wait_for(std::chrono::milliseconds(100)) != std::future_status::ready) meanwhile();
  done.get();
}

std::future<void> Worker::start(const std::function<void()>& job) {
  std::packaged_task<void()> task(job);
  std::future<void> done = task.get_future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    job_ = std::move(task);
  }
  changed_.notify_all();
  return done;
}

void Worker::serve(int threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || job_.valid(); });
    if (stopping_) return;
    std::packaged_task<void()> job = std::move(job_);
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace tilefold
