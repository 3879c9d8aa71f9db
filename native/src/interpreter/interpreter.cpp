#include "interpreter.hpp"

#include <algorithm>
#include <optional>

#include "walk.hpp"

namespace tilefold {
namespace {

std::vector<std::unique_ptr<CompiledKernel>> compileAll(const std::vector<Kernel>& kernels, Device& device) {
  std::vector<std::unique_ptr<CompiledKernel>> compiled;
  for (const Kernel& kernel : kernels) compiled.push_back(device.compile(kernel));
  return compiled;
}

Spaces spacesOf(const Program& program) {
  Spaces spaces{program.arenaBytes, program.hostBytes, 0, program.input, program.pages};
  bool loadsImages = false;
  for (const Section& section : program.sections) {
    spaces.stepIoBytes = std::max(spaces.stepIoBytes, section.stepIoBytes);
    loadsImages = loadsImages || section.loadsImages;
  }
  if (!loadsImages) spaces.images = {};
  return spaces;
}

// Throws Failure unless what is exchanged with the most ranks is with all that there are, and
// anything else with groups of them.
void checkRanks(const Program& program, const Network* network) {
  std::int64_t most = 0;
  for (const Section& section : program.sections)
    if (!section.ranks.empty()) most = std::max(most, *section.ranks.rbegin());
  if (most == 0) return;
  const std::int64_t size = network == nullptr ? 1 : network->size();
  for (const Section& section : program.sections)
    for (const std::int64_t ranks : section.ranks)
      if (size % ranks != 0 || (ranks == most && most != size))
        throw Failure("section " + section.name + " is of " + std::to_string(ranks) + " ranks, but runs on " + std::to_string(size));
  if (network == nullptr) throw Failure("the program is of ranks, but runs without a network");
}

// Jobs on other threads that refer to what the caller holds, so it waits for them however it ends.
class Started {
 public:
  explicit Started(Progress& progress) : progress_(progress) { jobs_.reserve(engineCount); }
  ~Started() {
    progress_.end();
    for (std::future<void>& job : jobs_)
      if (job.valid()) job.wait();
  }
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  void add(Worker& thread, const std::function<void()>& job) { jobs_.push_back(thread.start(job)); }
  // Throws what a job threw.
  void finish() {
    for (std::future<void>& job : jobs_) job.get();
  }

 private:
  Progress& progress_;
  std::vector<std::future<void>> jobs_;
};

}  // namespace

Interpreter::Interpreter(Program program, Device& device, double linkBytesPerSecond, const Measuring& measuring,
                         std::shared_ptr<Network> network)
    : program_(std::move(program)),
      kernels_(compileAll(program_.kernels, device)),
      traces_(measuring.traces),
      network_(std::move(network)),
      engines_(device.engines(spacesOf(program_), linkBytesPerSecond)) {
  checkRanks(program_, network_.get());
  if (measuring.timesKernels) kernelMilliseconds_.fill(std::vector<double>(kernels_.size()));
}

std::vector<double> Interpreter::kernelMilliseconds() const {
  std::vector<double> sums = of(kernelMilliseconds_, Engine::compute);
  for (const Engine engine : {Engine::toDevice, Engine::network})
    for (std::size_t kernel = 0; kernel < sums.size(); ++kernel) sums[kernel] += of(kernelMilliseconds_, engine)[kernel];
  return sums;
}

void Interpreter::prepare(std::uint64_t number, const std::vector<Image>& images) {
  checkImages(images, program_.input);
  if (std::any_of(images.begin(), images.end(), [](const Image& image) { return image.windows != nullptr; }))
    throw Failure("images that are read by windows cannot be prepared: give them to the run alone");
  engines_->prepare(number, images);
}

bool Interpreter::run(const Section& section, std::byte* stepIo, const StepParameters& step, Progress& progress) {
  if (section.loadsImages) checkImages(step.images, program_.input);
  if (reinterpret_cast<std::uintptr_t>(stepIo) % sizeof(double) != 0) throw Failure("the I/O buffer is not aligned to 8 bytes");
  progress.expect(section.eventCount);
  engines_->take(section, step);
  const bool leavesOut = mayLeaveOut(section, step, progress);
  while (true) {
    try {
      const std::optional<std::byte*> found = engines_->begin(section, stepIo, leavesOut, progress);
      // A run that ended while it waited for an image is not replayed either.
      const bool finished = found ? walk(section, *found, step, leavesOut, progress) : !progress.ended();
      return engines_->end(finished);
    } catch (...) {
      if (!engines_->abandon()) throw;
    }
  }
}

bool Interpreter::mayLeaveOut(const Section& section, const StepParameters& step, Progress& progress) {
  // Of a run that ended, images may be missing. Who measures wants each launch.
  if (progress.ended() || !section.loadsImages || traces_ || !of(kernelMilliseconds_, Engine::compute).empty()) return false;
  // Of ranks that exchange each does the same, so that all replay what they know, or none.
  if (engines_->queue() && !section.ranks.empty()) return false;
  // A device that queues knows a section in which nothing is left out.
  return !engines_->queue() || Walk(*this, std::nullopt, section, nullptr, step, false, progress).repeatsTile(section.code);
}

bool Interpreter::walk(const Section& section, std::byte* stepIo, const StepParameters& step, bool leavesOut, Progress& progress) {
  if (engines_->queue()) return Walk(*this, std::nullopt, section, stepIo, step, leavesOut, progress).run(section.code);
  PerEngine<bool> finished{true, true, true, true};
  const auto walk = [&](Engine engine) {
    try {
      of(finished, engine) = Walk(*this, engine, section, stepIo, step, leavesOut, progress).run(of(section.parts, engine));
    } catch (...) {
      progress.end();
      throw;
    }
  };
  Started others(progress);
  for (const Engine engine : otherEngines)
    if (!of(section.parts, engine).empty()) others.add(engines_->thread(engine), [&walk, engine] { walk(engine); });
  walk(Engine::compute);
  others.finish();
  return finished == PerEngine<bool>{true, true, true, true};
}

}  // namespace tilefold
