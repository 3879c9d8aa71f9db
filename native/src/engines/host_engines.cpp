#include <omp.h>

#include <chrono>
#include <cstring>
#include <optional>

#include "../memory/arena.hpp"
#include "../memory/paged_arena.hpp"
#include "engines.hpp"
#include "link.hpp"

namespace tilefold {
namespace {

class HostEngines : public Engines {
 public:
  HostEngines(const Spaces& spaces, double linkBytesPerSecond)
      : hostPool_(spaces.hostBytes, "host pool", "host budget"), linkBytesPerSecond_(linkBytesPerSecond), threads_(omp_get_max_threads()) {
    checkLinkRate(linkBytesPerSecond);
    if (spaces.pages.pageBytes == 0)
      arena_.emplace(spaces.arenaBytes);
    else
      pages_.emplace(spaces.pages, spaces.arenaBytes);
  }

  bool queue() const override { return false; }
  Worker& thread(Engine engine) override {
    if (engine == Engine::network) {
      if (!network_) network_.emplace(1);
      return *network_;
    }
    std::optional<Link>& link = of(links_, engine);
    if (!link) link.emplace(linkBytesPerSecond_, threads_);
    return link->thread();
  }
  std::byte* arena() const override { return pages_ ? pages_->data() : arena_->data(); }
  std::byte* hostPool() const override { return hostPool_.data(); }

  void take(const Section&, const StepParameters& step) override { step_ = &step; }
  std::optional<std::byte*> begin(const Section&, std::byte* stepIo, bool, const Progress&) override {
    if (pages_) pages_->reset();
    for (std::vector<double>& times : timestamps_) times.clear();
    return stepIo;
  }

  void launch(Engine engine, CompiledKernel& kernel, const std::vector<Operand>& operands) override {
    if (engine == Engine::compute)
      kernel.launch(operands, *step_);
    else
      kernel.load(operands, *step_);
  }

  double launchTimed(Engine engine, CompiledKernel& kernel, const std::vector<Operand>& operands) override {
    const auto start = std::chrono::steady_clock::now();
    launch(engine, kernel, operands);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }

  // Each engine notes its own on a thread of its own.
  void timestamp(Engine engine) override {
    of(timestamps_, engine).push_back(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  PerEngine<std::vector<double>> timestamps() const override { return timestamps_; }

  std::vector<double> timeRows(CompiledKernel& kernel, const std::vector<Operand>& operands, const TimedRows& rows) override {
    std::vector<double> times;
    for (std::size_t row = 0; row < rows.count; ++row) {
      sweepCaches();
      if (rows.warm) launch(Engine::compute, kernel, operands);
      double sum = 0;
      for (std::size_t i = 0; i < rows.launches; ++i) sum += launchTimed(Engine::compute, kernel, operands);
      times.push_back(sum / static_cast<double>(rows.launches));
    }
    return times;
  }

  // Reads what is larger than most caches, so that a launch finds its operands in memory. Each
  // thread reads all of it, for it may be on cores that share no cache with another's.
  void sweepCaches() {
    constexpr std::size_t bytes = std::size_t{1} << 26, line = 64;
    if (!swept_) std::memset(swept_.emplace(bytes).data(), 1, bytes);  // pages that are there
    const std::byte* swept = swept_->data();
    unsigned sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (std::size_t i = 0; i < bytes; i += line) sum += std::to_integer<unsigned>(swept[i]);
    sweptSum_ = sum;
  }

  bool copy(Engine engine, const Rows& device, const Rows& host, std::int64_t rows, std::int64_t rowBytes, Progress& progress) override {
    const bool toDevice = engine == Engine::toDevice;
    return of(links_, engine)->copy(toDevice ? host : device, toDevice ? device : host, rows, rowBytes, progress);
  }

  bool exchange(Network& network, const std::vector<RankBuffers>& parts, const Progress& progress) override {
    return network.exchange(parts, [&progress] { return progress.ended(); });
  }
  void move(std::byte* to, const std::byte* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }

  void map(const Map& map) override { pages_->map(map.address, map.memory, map.bytes); }
  void unmap(const Unmap& unmap) override { pages_->unmap(unmap.address, unmap.bytes); }

  void record(Engine engine, std::size_t event, Progress& progress) override { progress.reach(event, engine); }

  bool wait(Engine, std::size_t event, Engine by, std::uint64_t times, Progress& progress) override {
    return progress.await(event, by, times);
  }

  bool end(bool whole) override { return whole; }
  bool abandon() noexcept override { return false; }

  void fill(std::byte* address, std::byte value, std::size_t count) override { std::memset(address, static_cast<int>(value), count); }
  void upload(std::byte* address, const std::byte* bytes, std::size_t count) override { std::memcpy(address, bytes, count); }
  void download(const std::byte* address, std::byte* bytes, std::size_t count) const override { std::memcpy(bytes, address, count); }
  std::size_t arenaPeakBytes() const override { return pages_ ? pages_->highestChangedByte() : arena_->highestChangedByte(); }
  std::size_t hostPeakBytes() const override { return hostPool_.highestChangedByte(); }
  bool surroundingsIntact() const override { return (pages_ || arena_->surroundingsIntact()) && hostPool_.surroundingsIntact(); }

 private:
  std::optional<Arena> arena_;  // one of these
  std::optional<PagedArena> pages_;
  Arena hostPool_;
  double linkBytesPerSecond_;
  int threads_;  // of the loops of who makes this: of the compute engine
  PerEngine<std::optional<Link>> links_;  // of the engines whose thread was asked for
  std::optional<Worker> network_;
  PerEngine<std::vector<double>> timestamps_;
  const StepParameters* step_ = nullptr;
  std::optional<Arena> swept_;
  volatile unsigned sweptSum_ = 0;  // read, so that it is computed
};

}  // namespace

std::unique_ptr<Engines> makeHostEngines(const Spaces& spaces, double linkBytesPerSecond) {
  return std::make_unique<HostEngines>(spaces, linkBytesPerSecond);
}

std::unique_ptr<Engines> Device::engines(const Spaces& spaces, double linkBytesPerSecond) {
  return makeHostEngines(spaces, linkBytesPerSecond);
}

}  // namespace tilefold
