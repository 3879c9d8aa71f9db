// Times by CUDA's events: of what is queued, and when engines begin and end in a section.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

#include "../../engines/engines.hpp"
#include "stream.hpp"

namespace tilefold::cuda {

class EventTimer {
 public:
  // Whether anything was timed so far: then nothing is captured, for a graph has no times of its
  // kernels.
  bool used() const { return used_; }

  // Milliseconds from before to after what `body` queues.
  template <class Body>
  double time(cudaStream_t stream, const Body& body) {
    used_ = true;
    check(cudaEventRecord(start_.get(), stream), "recording an event");
    body();
    check(cudaEventRecord(stop_.get(), stream), "recording an event");
    check(cudaEventSynchronize(stop_.get()), "waiting for a kernel");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()), "reading a kernel's time");
    return static_cast<double>(milliseconds);
  }

  // A section begins.
  void clear() {
    for (std::vector<Event>& noted : noted_) noted.clear();
  }

  // Notes when an engine comes here.
  void timestamp(Engine engine, cudaStream_t stream) {
    used_ = true;
    of(noted_, engine).push_back(makeEvent(true));
    check(cudaEventRecord(of(noted_, engine).back().get(), stream), "recording an event");
  }

  // The section ends here.
  void end(cudaStream_t stream) {
    if (hasNoted()) check(cudaEventRecord(stop_.get(), stream), "recording an event");
  }

  // The section has just come to its end: all other events were that much earlier.
  void read() {
    if (!hasNoted()) return;
    const double now = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
    const auto nanoseconds = [&](const Event& event) {
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, event.get(), stop_.get()), "reading a timestamp");
      return now - 1e6 * static_cast<double>(milliseconds);
    };
    for (std::size_t engine = 0; engine < engineCount; ++engine) {
      timestamps_[engine].clear();
      for (const Event& event : noted_[engine]) timestamps_[engine].push_back(nanoseconds(event));
    }
  }

  // Nanoseconds of the machine's steady clock, as they were last read.
  const PerEngine<std::vector<double>>& timestamps() const { return timestamps_; }

 private:
  bool hasNoted() const {
    return std::any_of(noted_.begin(), noted_.end(), [](const std::vector<Event>& events) { return !events.empty(); });
  }

  Event start_ = makeEvent(true), stop_ = makeEvent(true);
  PerEngine<std::vector<Event>> noted_;
  PerEngine<std::vector<double>> timestamps_;
  bool used_ = false;
};

}  // namespace tilefold::cuda
