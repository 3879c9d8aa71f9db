#include "walk.hpp"

#include <algorithm>

namespace tilefold {
namespace {

// Of fewer ranks all messages at once are as fast; staging/devices/network.ts predicts the same.
constexpr std::int64_t leastDoubling = 16;

bool gathersByDoubling(const AllToAll& all) {
  const bool isPowerOfTwo = (all.ranks & (all.ranks - 1)) == 0;
  return all.sendStride == 0 && all.receiveStride == all.bytes && all.ranks >= leastDoubling && isPowerOfTwo;
}

}  // namespace

Interpreter::Walk::Walk(Interpreter& interpreter, std::optional<Engine> engine, const Section& section, std::byte* stepIo,
                        const StepParameters& step, bool leavesOut, Progress& progress)
    : interpreter_(interpreter),
      engines_(*interpreter.engines_),
      engine_(engine),
      stepIo_(stepIo),
      step_(step),
      leavesOut_(leavesOut),
      progress_(progress),
      recorded_(section.eventCount) {}

bool Interpreter::Walk::run(const Code& code, std::size_t from) {
  for (std::size_t at = from; at < code.size(); ++at) {
    if (progress_.ended()) return false;
    if (!std::visit([this](const auto& it) { return execute(it); }, code[at])) return false;
  }
  return true;
}

bool Interpreter::Walk::repeatsTile(const Code& code) {
  return std::any_of(code.begin(), code.end(), [this](const Instruction& instruction) {
    const auto* loop = std::get_if<Loop>(&instruction);
    return loop != nullptr && repeatsTile(*loop);
  });
}

std::int64_t Interpreter::Walk::resolve(const Offset& offset) const {
  std::int64_t value = offset.base;
  for (std::size_t axis = 0; axis < axisCount; ++axis) value += offset.strides[axis] * index_[axis];
  return value;
}

template <class Body>
bool Interpreter::Walk::traced(Engine engine, const Body& body) {
  if (!interpreter_.traces_) return body();
  engines_.timestamp(engine);
  const bool finished = body();
  engines_.timestamp(engine);
  return finished;
}

void Interpreter::Walk::resolve(const Launch& launch) {
  operands_.clear();
  for (const Address& address : launch.operands) {
    const std::int64_t value = resolve(address);
    Operand operand;
    if (address.space == Space::arena) operand.address = engines_.arena() + value;
    if (address.space == Space::stepIo) operand.address = stepIo_ + value;
    if (address.space == Space::index) operand.index = value;
    operands_.push_back(operand);
  }
}

bool Interpreter::Walk::execute(const Launch& launch) {
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

template <class Iteration>
bool Interpreter::Walk::iterate(const Loop& loop, const Iteration& iteration) {
  bool goesOn = true;
  for (std::int64_t i = 0; goesOn && i < loop.count; ++i) {
    index_[loop.axis] = i;
    goesOn = iteration();
  }
  index_[loop.axis] = 0;
  return goesOn;
}

bool Interpreter::Walk::execute(const Loop& loop) {
  if (loop.repeated == 0 || !leavesOut_) return iterate(loop, [&] { return run(loop.body); });
  std::optional<PlainTile> before;
  return iterate(loop, [&] { return runTile(loop, before); });
}

bool Interpreter::Walk::repeatsTile(const Loop& loop) {
  std::optional<PlainTile> before;
  return !iterate(loop, [&] { return loop.repeated == 0 ? !repeatsTile(loop.body) : !kernelOfTile(loop).repeats(before, operands_); });
}

CompiledKernel& Interpreter::Walk::kernelOfTile(const Loop& loop) {
  const auto& load = std::get<Launch>(loop.body.front());
  resolve(load);
  return *interpreter_.kernels_[load.kernel];
}

bool Interpreter::Walk::runTile(const Loop& loop, std::optional<PlainTile>& before) {
  if (progress_.ended()) return false;
  CompiledKernel& kernel = kernelOfTile(loop);
  const bool loaded = engines_.queue() ? !kernel.repeats(before, operands_) : kernel.loadUnless(before, operands_, step_);
  // In its place behind what is queued.
  if (loaded && engines_.queue()) engines_.launch(Engine::compute, kernel, operands_);
  if (!loaded) ++interpreter_.repeatedTiles_;
  return run(loop.body, loaded ? 1 : loop.repeated);
}

bool Interpreter::Walk::execute(const Copy& copy) {
  const Rows device{engines_.arena() + resolve(copy.device), copy.deviceRowStride};
  const Rows host{engines_.hostPool() + resolve(copy.host), copy.hostRowStride};
  return traced(copy.engine, [&] { return engines_.copy(copy.engine, device, host, copy.rows, copy.rowBytes, progress_); });
}

bool Interpreter::Walk::execute(const AllToAll& all) {
  const std::byte* send = engines_.arena() + resolve(all.send);
  std::byte* receive = engines_.arena() + resolve(all.receive);
  return traced(Engine::network, [&] {
    return gathersByDoubling(all) ? gatherByDoubling(all, send, receive) : exchangeWithEach(all, send, receive);
  });
}

bool Interpreter::Walk::exchangeWithEach(const AllToAll& all, const std::byte* send, std::byte* receive) {
  const auto bytes = static_cast<std::size_t>(all.bytes);
  std::vector<RankBuffers> parts(static_cast<std::size_t>(all.ranks * all.apart));
  const std::int64_t first = interpreter_.network_->rank() % all.apart;
  for (std::int64_t rank = 0; rank < all.ranks; ++rank)
    parts[static_cast<std::size_t>(first + rank * all.apart)] = {send + rank * all.sendStride, bytes, receive + rank * all.receiveStride, bytes};
  return exchangeInGroup(parts);
}

bool Interpreter::Walk::gatherByDoubling(const AllToAll& all, const std::byte* send, std::byte* receive) {
  const std::int64_t rank = interpreter_.network_->rank(), first = rank % all.apart, own = rank / all.apart % all.ranks;
  // Of so many ranks, this one among them, everything is here.
  for (std::int64_t known = 1; known < all.ranks; known *= 2) {
    std::vector<RankBuffers> parts(static_cast<std::size_t>(all.ranks * all.apart));
    const std::int64_t partner = own ^ known, mine = own & ~(known - 1), theirs = partner & ~(known - 1);
    const auto bytes = static_cast<std::size_t>(known * all.bytes);
    const std::byte* from = known == 1 ? send : receive + mine * all.bytes;
    parts[static_cast<std::size_t>(first + partner * all.apart)] = {from, bytes, receive + theirs * all.bytes, bytes};
    if (known == 1) parts[static_cast<std::size_t>(first + own * all.apart)] = {send, bytes, receive + own * all.bytes, bytes};
    if (!exchangeInGroup(parts)) return false;
  }
  return true;
}

bool Interpreter::Walk::execute(const Exchange& exchange) {
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
  return traced(Engine::network, [&] { return exchangeInGroup(parts); });
}

bool Interpreter::Walk::execute(const OwnSlice& own) {
  const std::int64_t rank = interpreter_.network_->rank() % own.ranks;
  const std::byte* slice = engines_.arena() + resolve(own.from) + rank * own.bytes;
  return traced(Engine::compute, [&] {
    engines_.move(engines_.arena() + resolve(own.to), slice, static_cast<std::size_t>(own.bytes));
    return true;
  });
}

bool Interpreter::Walk::exchangeInGroup(const std::vector<RankBuffers>& parts) {
  Network& network = *interpreter_.network_;
  const auto rank = static_cast<std::size_t>(network.rank());
  std::vector<RankBuffers> all(static_cast<std::size_t>(network.size()));
  std::copy(parts.begin(), parts.end(), all.begin() + static_cast<std::ptrdiff_t>(rank - rank % parts.size()));
  return engines_.exchange(network, all, progress_);
}

bool Interpreter::Walk::execute(const Record& record) {
  Recorded& recorded = recorded_[record.event];
  ++of(recorded.times, record.engine);
  recorded.last = record.engine;
  if (!engine_ || record.engine == *engine_) engines_.record(record.engine, record.event, progress_);
  return true;
}

bool Interpreter::Walk::execute(const Wait& wait) {
  const Recorded& recorded = recorded_[wait.event];
  return engines_.wait(wait.engine, wait.event, recorded.last, of(recorded.times, recorded.last), progress_);
}

bool Interpreter::Walk::execute(const Map& map) {
  return traced(Engine::compute, [&] {
    engines_.map(map);
    return true;
  });
}

bool Interpreter::Walk::execute(const Unmap& unmap) {
  return traced(Engine::compute, [&] {
    engines_.unmap(unmap);
    return true;
  });
}

}  // namespace tilefold
