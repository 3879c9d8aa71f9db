// A device with a program and its arena, and the thread on which both are used. Knows nothing of
// JavaScript.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <mutex>
#include <string>
#include <vector>

#include "../devices.hpp"
#include "../threads/worker.hpp"
#include "interpreter.hpp"

namespace tilefold {

class Session {
 public:
  // Decodes, compiles and maps the arena; waits for it. Throws Failure. `linkBytesPerSecond` bounds
  // either direction between device and host; 0: unlimited. `network` as the interpreter's.
  Session(const DeviceChoice& choice, const EncodedProgram& program, double linkBytesPerSecond = 0, const Measuring& measuring = {},
          std::shared_ptr<Network> network = nullptr);
  ~Session();

  // Call before queueing a run: from here on, interrupt() ends that run. Throws Failure while
  // another run is under way. It ends the waiting for `windows` too. `prepared`: as the
  // interpreter's number of claim().
  void begin(std::vector<std::shared_ptr<ImageWindows>> windows = {}, std::uint64_t prepared = 0);
  // Milliseconds that the section took, or nothing when it was interrupted. Ends what begin()
  // began. Throws Failure. `meanwhile`: as the worker's.
  std::optional<double> run(const std::string& section, std::byte* stepIo, std::size_t stepIoBytes, const StepParameters& step,
                            const std::function<void()>& meanwhile = [] {});
  // Any thread. As the interpreter's.
  void prepare(std::uint64_t number, const std::vector<Image>& images) { interpreter_->prepare(number, images); }
  // Any thread. The run ends before its next instruction.
  void interrupt();
  // Bytes from the arena's start to the highest one that was ever written; as the next two, throws
  // Failure during a run.
  std::size_t measuredPeakBytes() const { return idle().engines().arenaPeakBytes(); }
  // The same of the host pool.
  std::size_t measuredHostPeakBytes() const { return idle().engines().hostPeakBytes(); }
  // As the interpreter's.
  std::uint64_t repeatedTiles() const { return idle().repeatedTiles(); }
  // Of each kernel's launches so far, where they are timed; copied while no run is under way.
  std::vector<double> kernelMilliseconds() const { return idle().kernelMilliseconds(); }
  // As the interpreter's, where they are traced; copied while no run is under way.
  PerEngine<std::vector<double>> timestamps() const { return idle().timestamps(); }

 private:
  const Section& find(const std::string& name) const;
  const Interpreter& idle() const {
    if (busy_) throw Failure("the session is running a section: wait for it");
    return *interpreter_;
  }

  Progress progress_;
  std::mutex windowsMutex_;
  std::vector<std::shared_ptr<ImageWindows>> windows_;  // of the run under way
  std::atomic<bool> busy_{false};
  Worker worker_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Interpreter> interpreter_;
};

// A device that answers questions, on a thread of its own.
class DeviceQueries {
 public:
  explicit DeviceQueries(const DeviceChoice& choice);
  ~DeviceQueries();

  // ask(device) on the device's thread. Throws what it throws.
  template <class Ask>
  auto ask(const Ask& question) {
    decltype(question(*device_)) answer{};
    worker_.execute([&] { answer = question(*device_); });
    return answer;
  }

 private:
  Worker worker_;
  std::unique_ptr<Device> device_;
};

}  // namespace tilefold
