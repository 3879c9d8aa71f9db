#include "session.hpp"

#include <chrono>
#include <utility>

namespace tilefold {

Session::Session(const DeviceChoice& choice, const EncodedProgram& program, double linkBytesPerSecond, const Measuring& measuring,
                 std::shared_ptr<Network> network)
    : worker_(choice.threads) {
  worker_.execute([&] {
    device_ = makeDevice(choice);
    interpreter_ = std::make_unique<Interpreter>(decodeProgram(program, *device_), *device_, linkBytesPerSecond, measuring, std::move(network));
  });
}

Session::~Session() {
  interrupt();
  // Primitives die on the thread that made them; their destructors throw nothing.
  worker_.execute([&] {
    interpreter_.reset();
    device_.reset();
  });
}

void Session::begin(std::vector<std::shared_ptr<ImageWindows>> windows, std::uint64_t prepared) {
  if (busy_.exchange(true)) throw Failure("the session is already running a section: wait for it");
  interpreter_->claim(prepared);
  const std::lock_guard<std::mutex> lock(windowsMutex_);
  windows_ = std::move(windows);
  progress_.begin();
}

void Session::interrupt() {
  progress_.end();
  const std::lock_guard<std::mutex> lock(windowsMutex_);
  for (const std::shared_ptr<ImageWindows>& windows : windows_) windows->end();
}

std::optional<double> Session::run(const std::string& name, std::byte* stepIo, std::size_t stepIoBytes, const StepParameters& step,
                                   const std::function<void()>& meanwhile) {
  struct Idle {
    std::atomic<bool>& busy;
    ~Idle() { busy = false; }
  } idle{busy_};
  const Section& section = find(name);
  if (stepIoBytes < section.stepIoBytes)
    throw Failure("section " + name + " takes and gives " + std::to_string(section.stepIoBytes) + " bytes, but has a buffer of " +
                  std::to_string(stepIoBytes));
  bool finished = false;
  const auto start = std::chrono::steady_clock::now();
  worker_.execute([&] { finished = interpreter_->run(section, stepIo, step, progress_); }, meanwhile);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  return finished ? std::optional<double>(elapsed.count()) : std::nullopt;
}

const Section& Session::find(const std::string& name) const {
  for (const Section& section : interpreter_->program().sections)
    if (section.name == name) return section;
  throw Failure("the program has no section '" + name + "'");
}

DeviceQueries::DeviceQueries(const DeviceChoice& choice) : worker_(choice.threads) {
  worker_.execute([&] { device_ = makeDevice(choice); });
}

DeviceQueries::~DeviceQueries() {
  worker_.execute([&] { device_.reset(); });
}

}  // namespace tilefold
