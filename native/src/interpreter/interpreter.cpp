#include "interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

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
    spaces.exchangeBytes = std::max(spaces.exchangeBytes, section.exchangeBytes);
    loadsImages = loadsImages || section.loadsImages;
  }
  if (!loadsImages) spaces.images = {};
  return spaces;
}

// Throws Failure unless the section with the most ranks is of all that there are, and any other of
// groups of them.
void checkRanks(const Program& program, const Engines& engines, const Network* network) {
  std::int64_t most = 0;
  for (const Section& section : program.sections) most = std::max(most, section.ranks);
  if (most == 0) return;
  const std::int64_t size = network == nullptr ? 1 : network->size();
  for (const Section& section : program.sections)
    if (section.ranks > 0 && (size % section.ranks != 0 || (section.ranks == most && most != size)))
      throw Failure("section " + section.name + " is of " + std::to_string(section.ranks) + " ranks, but runs on " + std::to_string(size));
  if (network == nullptr) throw Failure("the program is of ranks, but runs without a network");
  if (engines.queue()) throw Failure("ranks train on processors alone: give --device cpu");
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

// The way through a section of one engine, or of all of them in program order.
class Interpreter::Walk {
 public:
  // `leavesOut`: launches of a tile that is the one before.
  Walk(Interpreter& interpreter, std::optional<Engine> engine, const Section& section, std::byte* exchange, const StepParameters& step,
       bool leavesOut, Progress& progress)
      : interpreter_(interpreter),
        engines_(*interpreter.engines_),
        engine_(engine),
        exchange_(exchange),
        step_(step),
        leavesOut_(leavesOut),
        progress_(progress),
        recorded_(section.eventCount) {}

  // False when the run ended first.
  bool run(const Code& code, std::size_t from = 0) {
    for (std::size_t at = from; at < code.size(); ++at) {
      if (progress_.ended()) return false;
      if (!std::visit([this](const auto& it) { return execute(it); }, code[at])) return false;
    }
    return true;
  }

  // Whether any tile is the one before; runs nothing.
  bool repeatsTile(const Code& code) {
    return std::any_of(code.begin(), code.end(), [this](const Instruction& instruction) {
      const auto* loop = std::get_if<Loop>(&instruction);
      return loop != nullptr && repeatsTile(*loop);
    });
  }

 private:
  // The records of one event that came before, in program order.
  struct Recorded {
    PerEngine<std::uint64_t> times{};
    Engine last = Engine::compute;
  };

  std::int64_t resolve(const Offset& offset) const {
    std::int64_t value = offset.base;
    for (std::size_t axis = 0; axis < axisCount; ++axis) value += offset.strides[axis] * index_[axis];
    return value;
  }

  // Notes when `body` begins and ends, where that is asked for.
  template <class Body>
  bool traced(Engine engine, const Body& body) {
    if (!interpreter_.traces_) return body();
    engines_.timestamp(engine);
    const bool finished = body();
    engines_.timestamp(engine);
    return finished;
  }

  void resolve(const Launch& launch) {
    operands_.clear();
    for (const Address& address : launch.operands) {
      const std::int64_t value = resolve(address);
      Operand operand;
      if (address.space == Space::arena) operand.address = engines_.arena() + value;
      if (address.space == Space::exchange) operand.address = exchange_ + value;
      if (address.space == Space::index) operand.index = value;
      operands_.push_back(operand);
    }
  }

  bool execute(const Launch& launch) {
    resolve(launch);
    CompiledKernel& kernel = *interpreter_.kernels_[launch.kernel];
    std::vector<double>& milliseconds = of(interpreter_.kernelMilliseconds_, launch.engine);
    return traced(launch.engine, [&] {
      if (milliseconds.empty())
        engines_.launch(launch.engine, kernel, operands_);
      else
        milliseconds[launch.kernel] += engines_.launchTimed(launch.engine, kernel, operands_);
      return true;
    });
  }

  // Each iteration until one says false.
  template <class Iteration>
  bool iterate(const Loop& loop, const Iteration& iteration) {
    bool goesOn = true;
    for (std::int64_t i = 0; goesOn && i < loop.count; ++i) {
      index_[loop.axis] = i;
      goesOn = iteration();
    }
    index_[loop.axis] = 0;
    return goesOn;
  }

  bool execute(const Loop& loop) {
    if (loop.repeated == 0 || !leavesOut_) return iterate(loop, [&] { return run(loop.body); });
    std::optional<PlainTile> before;
    return iterate(loop, [&] { return runTile(loop, before); });
  }

  bool repeatsTile(const Loop& loop) {
    std::optional<PlainTile> before;
    return !iterate(loop, [&] { return loop.repeated == 0 ? !repeatsTile(loop.body) : !kernelOfTile(loop).repeats(before, operands_); });
  }

  // The loadImage that a tile's launches begin with; resolves its operands.
  CompiledKernel& kernelOfTile(const Loop& loop) {
    const auto& load = std::get<Launch>(loop.body.front());
    resolve(load);
    return *interpreter_.kernels_[load.kernel];
  }

  // Of an iteration whose tile is the one before only what is not the same again.
  bool runTile(const Loop& loop, std::optional<PlainTile>& before) {
    if (progress_.ended()) return false;
    const bool loaded = kernelOfTile(loop).loadUnless(before, operands_, step_);
    if (!loaded) ++interpreter_.repeatedTiles_;
    return run(loop.body, loaded ? 1 : loop.repeated);
  }

  bool execute(const Copy& copy) {
    const Rows device{engines_.arena() + resolve(copy.device), copy.deviceRowStride};
    const Rows host{engines_.hostPool() + resolve(copy.host), copy.hostRowStride};
    return traced(copy.engine, [&] { return engines_.copy(copy.engine, device, host, copy.rows, copy.rowBytes, progress_); });
  }

  bool execute(const AllToAll& all) {
    const auto bytes = static_cast<std::size_t>(all.bytes);
    const std::byte* send = engines_.arena() + resolve(all.send);
    std::byte* receive = engines_.arena() + resolve(all.receive);
    std::vector<RankBuffers> parts(static_cast<std::size_t>(all.ranks));
    for (std::int64_t rank = 0; rank < all.ranks; ++rank)
      parts[static_cast<std::size_t>(rank)] = {send + rank * all.sendStride, bytes, receive + rank * all.receiveStride, bytes};
    return exchangeInGroup(parts);
  }

  bool execute(const Exchange& exchange) {
    std::vector<RankBuffers> parts(static_cast<std::size_t>(exchange.ranks));
    std::byte* arena = engines_.arena();
    for (const Message& sent : exchange.sends) {
      RankBuffers& part = parts[static_cast<std::size_t>(sent.rank)];
      part.send = arena + sent.base;
      part.sendBytes = static_cast<std::size_t>(sent.bytes);
    }
    for (const Message& received : exchange.receives) {
      RankBuffers& part = parts[static_cast<std::size_t>(received.rank)];
      part.receive = arena + received.base;
      part.receiveBytes = static_cast<std::size_t>(received.bytes);
    }
    const RankBuffers& own = parts[static_cast<std::size_t>(interpreter_.network_->rank()) % parts.size()];
    if (own.sendBytes != own.receiveBytes)
      throw Failure("rank " + std::to_string(interpreter_.network_->rank()) + " sends itself " + std::to_string(own.sendBytes) +
                    " bytes, but receives " + std::to_string(own.receiveBytes));
    return exchangeInGroup(parts);
  }

  bool execute(const OwnSlice& own) {
    const std::int64_t rank = interpreter_.network_->rank() % own.ranks;
    const std::byte* slice = engines_.arena() + resolve(own.from) + rank * own.bytes;
    return traced(Engine::compute, [&] {
      std::memcpy(engines_.arena() + resolve(own.to), slice, static_cast<std::size_t>(own.bytes));
      return true;
    });
  }

  // With the ranks of this one's group, of as many as there are parts; nothing with any other.
  bool exchangeInGroup(const std::vector<RankBuffers>& parts) {
    Network& network = *interpreter_.network_;
    const auto rank = static_cast<std::size_t>(network.rank());
    std::vector<RankBuffers> all(static_cast<std::size_t>(network.size()));
    std::copy(parts.begin(), parts.end(), all.begin() + static_cast<std::ptrdiff_t>(rank - rank % parts.size()));
    return traced(Engine::network, [&] { return network.exchange(all, [this] { return progress_.ended(); }); });
  }

  bool execute(const Record& record) {
    Recorded& recorded = recorded_[record.event];
    ++of(recorded.times, record.engine);
    recorded.last = record.engine;
    if (!engine_ || record.engine == *engine_) engines_.record(record.engine, record.event, progress_);
    return true;
  }

  bool execute(const Wait& wait) {
    const Recorded& recorded = recorded_[wait.event];
    return engines_.wait(wait.engine, wait.event, recorded.last, of(recorded.times, recorded.last), progress_);
  }

  bool execute(const Map& map) {
    return traced(Engine::compute, [&] {
      engines_.map(map);
      return true;
    });
  }

  bool execute(const Unmap& unmap) {
    return traced(Engine::compute, [&] {
      engines_.unmap(unmap);
      return true;
    });
  }

  Interpreter& interpreter_;
  Engines& engines_;
  std::optional<Engine> engine_;
  std::byte* exchange_;
  const StepParameters& step_;
  bool leavesOut_;
  Progress& progress_;
  std::vector<Recorded> recorded_;
  std::array<std::int64_t, axisCount> index_{};
  std::vector<Operand> operands_{};
};

Interpreter::Interpreter(Program program, Device& device, double linkBytesPerSecond, const Measuring& measuring,
                         std::shared_ptr<Network> network)
    : program_(std::move(program)),
      kernels_(compileAll(program_.kernels, device)),
      traces_(measuring.traces),
      network_(std::move(network)),
      engines_(device.engines(spacesOf(program_), linkBytesPerSecond)) {
  checkRanks(program_, *engines_, network_.get());
  if (measuring.timesKernels) kernelMilliseconds_.fill(std::vector<double>(kernels_.size()));
}

std::vector<double> Interpreter::kernelMilliseconds() const {
  std::vector<double> sums = of(kernelMilliseconds_, Engine::compute);
  for (std::size_t kernel = 0; kernel < sums.size(); ++kernel) sums[kernel] += of(kernelMilliseconds_, Engine::toDevice)[kernel];
  return sums;
}

bool Interpreter::run(const Section& section, std::byte* exchange, const StepParameters& step, Progress& progress) {
  if (section.loadsImages) checkImages(step.images, program_.input);
  if (reinterpret_cast<std::uintptr_t>(exchange) % sizeof(double) != 0) throw Failure("the exchange buffer is not aligned to 8 bytes");
  progress.expect(section.eventCount);
  engines_->take(section, step);
  const bool leavesOut = mayLeaveOut(section, step, progress);
  while (true) {
    try {
      const std::optional<std::byte*> found = engines_->begin(section, exchange, leavesOut);
      // A run that ended while it waited for an image is not replayed either.
      const bool finished = found ? walk(section, *found, step, leavesOut, progress) : !progress.ended();
      engines_->end(finished);
      return finished;
    } catch (...) {
      if (!engines_->abandon()) throw;
    }
  }
}

bool Interpreter::mayLeaveOut(const Section& section, const StepParameters& step, Progress& progress) {
  // Of a run that ended, images may be missing. Who measures wants each launch.
  if (progress.ended() || !section.loadsImages || traces_ || !of(kernelMilliseconds_, Engine::compute).empty()) return false;
  // A device that queues knows a section in which nothing is left out.
  return !engines_->queue() || Walk(*this, std::nullopt, section, nullptr, step, false, progress).repeatsTile(section.code);
}

bool Interpreter::walk(const Section& section, std::byte* exchange, const StepParameters& step, bool leavesOut, Progress& progress) {
  if (engines_->queue()) return Walk(*this, std::nullopt, section, exchange, step, leavesOut, progress).run(section.code);
  PerEngine<bool> finished{true, true, true, true};
  const auto walk = [&](Engine engine) {
    try {
      of(finished, engine) = Walk(*this, engine, section, exchange, step, leavesOut, progress).run(of(section.parts, engine));
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
