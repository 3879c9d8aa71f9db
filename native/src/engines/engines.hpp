// What a device runs a program with: memory for its spaces, and engines that each keep their order.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "../device.hpp"
#include "../network/network.hpp"
#include "../program/program.hpp"
#include "../threads/worker.hpp"
#include "progress.hpp"

namespace tilefold {

// Where rows of bytes begin and how far apart they are.
struct Rows {
  std::byte* first;
  std::int64_t stride;
};

struct Spaces {
  std::size_t arenaBytes = 0, hostBytes = 0, stepIoBytes = 0;  // the largest of any section
  // Of the network's input; batch 0 where none is loaded.
  ImageExtent images;
  Pages pages{};  // the arena's
};

// How a kernel is timed: in so many rows of launches. Where a device does not queue, operands are
// in no cache as a row begins, or are `warm`: what caches hold is left there.
struct TimedRows {
  std::size_t count, launches;
  bool warm = false;
};

class Engines {
 public:
  virtual ~Engines() = default;

  // Whether instructions are only queued: then one thread gives all engines theirs, in program
  // order. Else each engine is given its own on a thread of its own, which does them: the compute
  // engine's is the caller's.
  virtual bool queue() const = 0;
  virtual Worker& thread(Engine engine) = 0;
  virtual std::byte* arena() const = 0;
  virtual std::byte* hostPool() const = 0;

  // On any thread, also while a section runs: reads images, none of them by windows, under a number
  // above 0.
  virtual void prepare(std::uint64_t, const std::vector<Image>&) {}
  // Between sections: the next take() is given what was prepared last under this number; 0: is not.
  virtual void claim(std::uint64_t) {}
  // Before a section: what kernels read of the step, which stays where it is until end().
  virtual void take(const Section& section, const StepParameters& step) = 0;
  // Then, and until end(): `stepIo` stays where it is. The address at which kernels find it, or
  // nothing: the device knows this section's instructions from an earlier run and needs only end().
  // `leavesOut`: this step goes without some of them. `progress`, until end(), of the run.
  virtual std::optional<std::byte*> begin(const Section& section, std::byte* stepIo, bool leavesOut, const Progress& progress) = 0;
  // On the to-device engine: a load; on the network engine: an addition.
  virtual void launch(Engine engine, CompiledKernel& kernel, const std::vector<Operand>& operands) = 0;
  // The same, and waits: milliseconds that it took.
  virtual double launchTimed(Engine engine, CompiledKernel& kernel, const std::vector<Operand>& operands) = 0;
  // Notes when the engine has come to here, in its order.
  virtual void timestamp(Engine engine) = 0;
  // What each engine noted in the latest section that ended: nanoseconds of the machine's steady
  // clock.
  virtual PerEngine<std::vector<double>> timestamps() const = 0;
  // Milliseconds of a launch on the compute engine, in each of several rows of launches: where a
  // device only queues, without what queueing takes. The kernel has been launched before.
  virtual std::vector<double> timeRows(CompiledKernel& kernel, const std::vector<Operand>& operands, const TimedRows& rows) = 0;
  // Of a copy engine, in its direction. False when the run ended first, as of wait.
  virtual bool copy(Engine engine, const Rows& device, const Rows& host, std::int64_t rows, std::int64_t rowBytes, Progress& progress) = 0;
  // Of the network engine: with every rank, as the network's. False when the run ended first.
  virtual bool exchange(Network& network, const std::vector<RankBuffers>& parts, const Progress& progress) = 0;
  // Of the compute engine, within the arena.
  virtual void move(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  // Of the compute engine, where the spaces have pages; in whole pages that the decoder has
  // proven to be free.
  virtual void map(const Map& map) = 0;
  virtual void unmap(const Unmap& unmap) = 0;
  virtual void record(Engine engine, std::size_t event, Progress& progress) = 0;
  // For the latest record of the event in program order, which is the `times`th of engine `by`.
  virtual bool wait(Engine engine, std::size_t event, Engine by, std::uint64_t times, Progress& progress) = 0;
  // Waits until every engine is done; `whole`: all of the section's instructions were given. Says
  // whether all were done: not where the run ended while ranks waited for each other. Throws
  // Failure for what kernels found.
  virtual bool end(bool whole) = 0;
  // Instead of end(), after a failure: waits, and throws nothing. Whether nothing of the section
  // has run, so that it can begin anew, by other means than those that failed.
  virtual bool abandon() noexcept = 0;

  // Bytes within the arena; to and from it, for tests; between sections.
  virtual void fill(std::byte* address, std::byte value, std::size_t count) = 0;
  virtual void upload(std::byte* address, const std::byte* bytes, std::size_t count) = 0;
  virtual void download(const std::byte* address, std::byte* bytes, std::size_t count) const = 0;
  // One past the highest byte that anything changed, in the arena and in the host pool.
  virtual std::size_t arenaPeakBytes() const = 0;
  virtual std::size_t hostPeakBytes() const = 0;
  // Whether the bytes beside both, as far as they can be seen, are as they were; a GPU shows none
  // (its emulation in tests guards them).
  virtual bool surroundingsIntact() const = 0;
};

// Of devices that compute in the machine's own memory. `linkBytesPerSecond` bounds either
// direction; 0: unlimited. Throws Failure.
std::unique_ptr<Engines> makeHostEngines(const Spaces& spaces, double linkBytesPerSecond);

}  // namespace tilefold
