#include "code_reader.hpp"

#include <array>
#include <unordered_map>

#include "code_cursor.hpp"
#include "instruction_lists.hpp"
#include "mappings.hpp"
#include "open_loops.hpp"
#include "operand_check.hpp"
#include "operand_overlap.hpp"
#include "repeated_launches.hpp"
#include "transfer_checks.hpp"

namespace tilefold {
namespace {

constexpr std::int64_t launchCode = 1, loopCode = 2, copyCode = 3, recordCode = 4, waitCode = 5, loadCode = 6, mapCode = 7, unmapCode = 8,
                       allToAllCode = 9, exchangeCode = 10, ownSliceCode = 11, networkLaunchCode = 12;
constexpr std::int64_t maxEvents = std::int64_t{1} << 32;
// Instructions of a section, each as often as loops run it.
constexpr std::int64_t maxSteps = std::int64_t{1} << 32;

class Reader : CodeCursor {
 public:
  Reader(const std::vector<double>& numbers, const CodeLimits& limits) : CodeCursor(numbers), limits_(limits), mappings_(limits.pages) {}

  void read(Section& section) {
    InstructionLists lists = instructions(size());
    for (const Engine engine : otherEngines)
      if (!of(used_, engine)) of(lists.parts, engine).clear();
    mappings_.end();
    section.code = std::move(lists.all);
    section.parts = std::move(lists.parts);
    section.eventCount = events_.size();
    section.loadsImages = loadsImages_;
    section.ranks = std::move(ranks_);
  }

 private:
  // Everything up to `end`; loops set and restore it.
  InstructionLists instructions(std::size_t end) {
    InstructionLists lists;
    stopAt(end);
    while (position() < end) {
      const std::int64_t code = beginInstruction();
      if (code == launchCode || code == loadCode || code == networkLaunchCode) {
        const Launch read = launch(code == launchCode ? Engine::compute : code == loadCode ? Engine::toDevice : Engine::network);
        lists.add(read.engine, read);
      } else if (code == loopCode) {
        loop(end, lists);
        stopAt(end);
      } else if (code == copyCode) {
        const Copy read = copy();
        lists.add(read.engine, read);
      } else if (code == recordCode) {
        const Record read = record();
        lists.all.emplace_back(read);
        for (Code& part : lists.parts) part.emplace_back(read);
      } else if (code == waitCode) {
        const Wait read = wait();
        lists.add(read.engine, read);
      } else if (code == mapCode) {
        lists.add(Engine::compute, map());
      } else if (code == unmapCode) {
        lists.add(Engine::compute, unmap());
      } else if (code == allToAllCode) {
        lists.add(Engine::network, allToAll());
      } else if (code == exchangeCode) {
        lists.add(Engine::network, exchange());
      } else if (code == ownSliceCode) {
        lists.add(Engine::compute, ownSlice());
      } else
        throw Failure(place() + " has the unknown code " + text(code));
      if (code != loopCode) countSteps();
    }
    return lists;
  }

  void countSteps() {
    steps_ += iterations_;
    if (steps_ > maxSteps) throw Failure(place() + " is run until more than 2^32 instructions are");
  }

  void loop(std::size_t end, InstructionLists& lists) {
    const std::int64_t axis = next();
    if (axis < 0 || axis >= static_cast<std::int64_t>(axisCount)) throw Failure(place() + " loops over the unknown axis " + text(axis));
    if (loops_.has(static_cast<std::size_t>(axis))) throw Failure(place() + " loops over axis " + text(axis) + " inside a loop over it");
    const std::int64_t iterations = next();
    if (iterations < 1) throw Failure(place() + " loops " + text(iterations) + " times");
    const std::int64_t length = next();
    if (length < 1 || static_cast<std::uint64_t>(length) > end - position())
      throw Failure(place() + " has a body of " + text(length) + " numbers where " + std::to_string(end - position()) + " follow");
    loops_.enter(static_cast<std::size_t>(axis), iterations);
    const std::int64_t enclosing = iterations_;
    iterations_ = iterations > maxSteps / enclosing ? maxSteps + 1 : iterations * enclosing;
    InstructionLists bodies = instructions(position() + static_cast<std::size_t>(length));
    iterations_ = enclosing;
    const std::size_t repeated = iterations > 1 ? repeatedLaunches(bodies.all, limits_, loops_) : 0;
    loops_.leave(static_cast<std::size_t>(axis));
    const auto add = [axis, iterations, repeated](Code& list, Code& body) {
      if (!body.empty()) list.emplace_back(Loop{static_cast<std::size_t>(axis), iterations, std::move(body), repeated});
    };
    add(lists.all, bodies.all);
    for (std::size_t engine = 0; engine < engineCount; ++engine) add(lists.parts[engine], bodies.parts[engine]);
  }

  Engine nextEngine() {
    const std::int64_t code = next();
    if (code < 0 || code >= static_cast<std::int64_t>(engineCount)) throw Failure(place() + " names the unknown engine " + text(code));
    const Engine engine = static_cast<Engine>(code);
    of(used_, engine) = true;
    return engine;
  }

  void touch(Engine engine, const ArenaRange& range) {
    placed([&] { mappings_.touch(engine, static_cast<std::size_t>(range.from), static_cast<std::size_t>(range.to)); });
  }

  Copy copy() {
    Copy copy;
    copy.engine = nextEngine();
    copy.rows = next();
    copy.rowBytes = next();
    copy.deviceRowStride = next();
    copy.hostRowStride = next();
    copy.device = nextOffset();
    copy.host = nextOffset();
    ArenaRange range;
    placed([&] { range = checkCopy(copy, loops_, limits_.arenaBytes, limits_.hostBytes); });
    touch(copy.engine, range);
    return copy;
  }

  AllToAll allToAll() {
    of(used_, Engine::network) = true;
    AllToAll all;
    all.ranks = next();
    all.apart = next();
    all.bytes = next();
    all.sendStride = next();
    all.receiveStride = next();
    all.send = nextOffset();
    all.receive = nextOffset();
    checkOutsideLoops("exchanges with ranks");
    std::array<ArenaRange, 2> ranges;
    placed([&] { ranges = checkAllToAll(all, limits_.arenaBytes); });
    ranks_.insert(all.ranks * all.apart);
    for (const ArenaRange& range : ranges) touch(Engine::network, range);
    return all;
  }

  Exchange exchange() {
    of(used_, Engine::network) = true;
    Exchange exchange;
    exchange.ranks = next();
    const std::int64_t sends = next(), receives = next();
    checkOutsideLoops("exchanges with ranks");
    placed([&] { checkMessageCounts(exchange.ranks, sends, receives); });
    ranks_.insert(exchange.ranks);
    exchange.sends = messages(exchange.ranks, sends, "sends");
    exchange.receives = messages(exchange.ranks, receives, "receives");
    placed([&] { checkApart(exchange); });
    return exchange;
  }

  OwnSlice ownSlice() {
    OwnSlice own;
    own.ranks = next();
    own.bytes = next();
    own.from = nextOffset();
    own.to = nextOffset();
    checkOutsideLoops("takes the slice of a rank");
    std::array<ArenaRange, 2> ranges;
    placed([&] { ranges = checkOwnSlice(own, limits_.arenaBytes); });
    ranks_.insert(own.ranks);
    for (const ArenaRange& range : ranges) touch(Engine::compute, range);
    return own;
  }

  std::vector<Message> messages(std::int64_t ranks, std::int64_t count, const char* what) {
    std::vector<Message> list;
    for (std::int64_t i = 0; i < count; ++i) {
      Message message;
      message.rank = next();
      message.bytes = next();
      message.base = next();
      ArenaRange range;
      placed([&] { range = checkMessage(message, list.empty() ? -1 : list.back().rank, ranks, what, limits_.arenaBytes); });
      touch(Engine::network, range);
      list.push_back(message);
    }
    return list;
  }

  Record record() {
    const Engine engine = nextEngine();
    const std::int64_t event = next();
    if (event < 0 || event >= maxEvents) throw Failure(place() + " records event " + text(event) + ", outside 0 .. 2^32 - 1");
    const std::size_t known = events_.try_emplace(event, events_.size()).first->second;
    mappings_.record(engine, known);
    return {engine, known};
  }

  // Every loop runs at least once, so what stands before in the code has come before at every
  // iteration.
  Wait wait() {
    const Engine engine = nextEngine();
    const std::int64_t event = next();
    const auto known = events_.find(event);
    if (known == events_.end()) throw Failure(place() + " waits for event " + text(event) + ", which nothing before it has recorded");
    mappings_.wait(engine, known->second);
    return {engine, known->second};
  }

  Launch launch(Engine engine) {
    Launch launch;
    launch.engine = engine;
    of(used_, engine) = true;
    const std::int64_t kernel = next();
    if (kernel < 0 || static_cast<std::uint64_t>(kernel) >= limits_.kernels.size())
      throw Failure(place() + " launches kernel " + text(kernel) + " of " + std::to_string(limits_.kernels.size()));
    launch.kernel = static_cast<std::size_t>(kernel);
    const KernelKind kind = limits_.kernels[launch.kernel].kind;
    const KernelInfo& info = kernelInfo(kind);
    if (engine == Engine::toDevice && kind != KernelKind::loadImage)
      throw Failure(place() + " loads with " + info.name + " instead of loadImage");
    if (engine == Engine::network) {
      checkOutsideLoops("adds what ranks have sent");
      if (kind != KernelKind::copyBox) throw Failure(place() + " adds what ranks have sent with " + info.name + " instead of copyBox");
    }
    const std::int64_t count = next();
    if (count < 0 || static_cast<std::uint64_t>(count) != info.operands.size())
      throw Failure(place() + " gives " + info.name + " " + text(count) + " operands instead of " + std::to_string(info.operands.size()));
    for (std::size_t i = 0; i < info.operands.size(); ++i) {
      const Address address = nextAddress();
      try {
        if (const auto range = checkOperand(address, info.operands[i], limits_.extents[launch.kernel][i], loops_, limits_))
          mappings_.touch(engine, static_cast<std::size_t>(range->from), static_cast<std::size_t>(range->to));
      } catch (const Failure& failure) {
        throw Failure(place() + ", " + info.operands[i].name + " of " + info.name + ", " + failure.what());
      }
      launch.operands.push_back(address);
    }
    if (const auto overlap = findOverlap(launch.operands, limits_.kernels[launch.kernel], limits_.extents[launch.kernel], loops_))
      throw Failure(place() + ", " + info.operands[overlap->second].name + " of " + info.name + ", overlaps its " +
                    info.operands[overlap->first].name);
    if (kind == KernelKind::loadImage) loadsImages_ = true;
    return launch;
  }

  void checkPages(std::int64_t from, std::int64_t bytes, std::int64_t space) const {
    const auto page = static_cast<std::int64_t>(limits_.pages.pageBytes);
    if (page == 0) throw Failure(place() + " maps pages, of which the program has none");
    if (from < 0 || bytes < 1 || from % page != 0 || bytes % page != 0 || checkedAdd(from, bytes) > space)
      throw Failure(place() + " names " + text(bytes) + " bytes from " + text(from) + " on, no whole pages of " + text(space));
  }

  void checkOutsideLoops(const char* what) const {
    if (loops_.any()) throw Failure(place() + " " + what + " inside a loop");
  }

  Map map() {
    const std::int64_t address = next(), memory = next(), bytes = next();
    checkOutsideLoops("maps pages");
    checkPages(address, bytes, limits_.arenaBytes);
    checkPages(memory, bytes, limits_.memoryBytes);
    const Map map{static_cast<std::size_t>(address), static_cast<std::size_t>(memory), static_cast<std::size_t>(bytes)};
    placed([&] { mappings_.map(map); });
    return map;
  }

  Unmap unmap() {
    const std::int64_t address = next(), bytes = next();
    checkOutsideLoops("maps pages");
    checkPages(address, bytes, limits_.arenaBytes);
    const Unmap unmap{static_cast<std::size_t>(address), static_cast<std::size_t>(bytes)};
    placed([&] { mappings_.unmap(unmap); });
    return unmap;
  }

  const CodeLimits& limits_;
  Mappings mappings_;
  OpenLoops loops_;
  // By their numbers, of those that were recorded so far.
  std::unordered_map<std::int64_t, std::size_t> events_;
  PerEngine<bool> used_{};
  // That run so far; of the enclosing loops together, as far as it matters.
  std::int64_t steps_ = 0, iterations_ = 1;
  bool loadsImages_ = false;
  std::set<std::int64_t> ranks_;
};

}  // namespace

void readCode(const std::vector<double>& numbers, const CodeLimits& limits, Section& section) { Reader(numbers, limits).read(section); }

}  // namespace tilefold
