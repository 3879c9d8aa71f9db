#include "cuda_engines.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "context/fault.hpp"
#include "launching/event_timer.hpp"
#include "launching/graph_capture.hpp"
#include "launching/launch_queue.hpp"
#include "launching/stream.hpp"
#include "memory/device_arena.hpp"
#include "memory/host_copy.hpp"
#include "memory/memory.hpp"
#include "memory/row_copies.hpp"
#include "memory/step_input.hpp"
#include "ranks/rank_link.hpp"

namespace tilefold::cuda {
namespace {

class CudaEngines : public Engines {
 public:
  CudaEngines(const Spaces& spaces, double linkBytesPerSecond, Context& context)
      : context_(context),
        arena_(spaces),
        hostBytes_(spaces.hostBytes),
        hostPool_(pinnedMemory<std::byte>(spaces.hostBytes, "pinning the host pool")),
        stepIo_(pinnedMemory<std::byte>(spaces.stepIoBytes, "pinning memory for what is handed in and out")),
        input_(spaces.images),
        fault_(deviceMemory<Fault>(1, "taking memory for faults")),
        readFault_(pinnedMemory<Fault>(1, "pinning memory for faults")),
        found_(deviceMemory<unsigned long long>(1, "taking memory for the arena's peak")) {
    if (linkBytesPerSecond != 0) throw Failure("the link of an NVIDIA GPU cannot be slowed down: leave its rate out");
    for (const Engine engine : {Engine::toDevice, Engine::toHost}) of(streams_, engine) = makeStream();
    context_.load = stream(Engine::toDevice);
    context_.step = input_.block();
    context_.images = input_.images();
    context_.fault = fault_.get();
    fillPattern(context_.compute, arena_.memory(), arena_.memoryBytes());
    fillPattern(context_.compute, hostPool_.get(), hostBytes_);
    synchronise("filling the arena");
  }
  ~CudaEngines() override {
    settle();
    context_.load = nullptr;
    context_.step = nullptr;
    context_.images = nullptr;
    context_.fault = nullptr;
  }

  bool queue() const override { return true; }
  Worker& thread(Engine) override { throw Failure("the engines of an NVIDIA GPU have no threads"); }
  std::byte* arena() const override { return arena_.data(); }
  std::byte* hostPool() const override { return hostPool_.get(); }

  void prepare(std::uint64_t number, const std::vector<Image>& images) override { input_.prepare(number, images); }
  void claim(std::uint64_t number) override { input_.claim(number); }
  void take(const Section& section, const StepParameters& step) override { input_.set(step, section.loadsImages); }

  std::optional<std::byte*> begin(const Section& section, std::byte* stepIo, bool leavesOut, const Progress& progress) override {
    progress_ = &progress;
    exchanges_ = !section.ranks.empty();
    given_ = stepIo;
    stepIoBytes_ = section.stepIoBytes;
    copyOnHost(stepIo_.get(), stepIo, stepIoBytes_);
    waiting_.forget();
    timer_.clear();
    if (arena_.pages()) arena_.pages()->reset();
    recording_ = leavesOut ? &unrecorded_ : &recordings_[section.name];
    if (recording_->executable) {
      if (exchanges_) ranks_.replay();
      return std::nullopt;
    }
    // Once as it comes: libraries prepare themselves in their first calls, which cannot be
    // captured.
    const bool canCapture = !timer_.used() && !arena_.pages() && fitsGraph(section.code) && (!exchanges_ || ranks_.queues());
    capturing_ = recording_->hasRun && !recording_->refused && canCapture;
    if (!capturing_) agreeOnGraph();
    if (events_.size() < section.eventCount) events_.resize(section.eventCount);
    for (Event& event : events_)
      if (!event) event = makeEvent();
    if (capturing_) beginCapture(context_.compute);
    input_.upload(context_.compute);
    check(cudaMemsetAsync(fault_.get(), 0, sizeof(Fault), context_.compute), "clearing the faults");
    for (const Engine engine : others()) follow(stream(engine), context_.compute);
    return stepIo_.get();
  }

  void launch(Engine engine, CompiledKernel& kernel, const std::vector<Operand>& operands) override {
    if (engine == Engine::compute) return waiting_.launch(kernel, operands);
    // What is launched beside computing finds its stream there.
    context_.load = stream(engine);
    kernel.load(operands, none_);
  }

  double launchTimed(Engine engine, CompiledKernel& kernel, const std::vector<Operand>& operands) override {
    waiting_.enqueue();
    return timer_.time(stream(engine), [&] {
      launch(engine, kernel, operands);
      waiting_.enqueue();
    });
  }

  void timestamp(Engine engine) override {
    waiting_.enqueue();
    timer_.timestamp(engine, stream(engine));
  }
  PerEngine<std::vector<double>> timestamps() const override { return timer_.timestamps(); }

  // A GPU replays a graph without its processor: many small kernels take what they take themselves.
  std::vector<double> timeRows(CompiledKernel& kernel, const std::vector<Operand>& operands, const TimedRows& rows) override {
    const auto launchAll = [&] {
      for (std::size_t i = 0; i < rows.launches; ++i) launch(Engine::compute, kernel, operands);
      waiting_.enqueue();
    };
    const ExecutableGraph graph = rows.launches > 1 ? capture(context_.compute, launchAll) : ExecutableGraph();
    const auto row = [&] {
      if (graph)
        check(cudaGraphLaunch(graph.get(), context_.compute), "launching a graph");
      else
        launchAll();
    };
    if (graph) row();  // the first launch takes the graph to the GPU
    std::vector<double> times;
    while (times.size() < rows.count) times.push_back(timer_.time(context_.compute, row) / static_cast<double>(rows.launches));
    return times;
  }

  bool copy(Engine engine, const Rows& device, const Rows& host, std::int64_t rows, std::int64_t rowBytes, Progress&) override {
    const bool toDevice = engine == Engine::toDevice;
    const Rows &to = toDevice ? device : host, &from = toDevice ? host : device;
    const cudaMemcpyKind kind = toDevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    copies_.queue(stream(engine), to, from, rows, rowBytes, kind);
    return true;
  }

  bool exchange(Network& network, const std::vector<RankBuffers>& parts, const Progress& progress) override {
    waiting_.enqueue();
    return ranks_.exchange(network, parts, progress);
  }
  void move(std::byte* to, const std::byte* from, std::size_t bytes) override {
    waiting_.enqueue();
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, context_.compute), "copying within the device");
  }

  void map(const Map& map) override { arena_.pages()->map(map.address, map.memory, map.bytes); }
  // Not before what is queued is done, which no graph could wait for.
  void unmap(const Unmap& unmap) override {
    waiting_.enqueue();
    if (!ranks_.wait(context_.compute, *progress_)) return;
    arena_.pages()->unmap(unmap.address, unmap.bytes);
  }

  void record(Engine engine, std::size_t event, Progress&) override {
    waiting_.enqueue();
    check(cudaEventRecord(events_[event].get(), stream(engine)), "recording an event");
  }

  // Instructions come in program order, so what the event was last recorded with is what is meant.
  bool wait(Engine engine, std::size_t event, Engine, std::uint64_t, Progress&) override {
    check(cudaStreamWaitEvent(stream(engine), events_[event].get(), 0), "waiting for an event");
    return true;
  }

  bool end(bool whole) override {
    waiting_.enqueue();
    // What others have not been sent they wait for, and this rank for them.
    if (!whole) ranks_.abandon(capturing_);
    if (!recording_->executable) {
      for (const Engine engine : others()) follow(context_.compute, stream(engine));
      if (capturing_ && !finishCapture(whole)) return false;
    }
    if (capturing_ && !agreeOnGraph()) throw Failure("not all ranks can replay this section as a graph");
    recording_->hasRun = recording_->hasRun || whole;
    if (whole && recording_->executable) check(cudaGraphLaunch(recording_->executable.get(), context_.compute), "launching a graph");
    capturing_ = false;
    check(cudaMemcpyAsync(readFault_.get(), fault_.get(), sizeof(Fault), cudaMemcpyDeviceToHost, context_.compute), "reading the faults");
    timer_.end(context_.compute);
    if (!ranks_.wait(context_.compute, *progress_)) {
      settle();
      return false;
    }
    ranks_.end();
    timer_.read();
    copyOnHost(given_, stepIo_.get(), stepIoBytes_);
    if (readFault_->kind != static_cast<std::int32_t>(FaultKind::none)) throw Failure(sentence(*readFault_));
    return whole;
  }

  // What a library does not let be captured, or the device has no memory for as a graph, is queued.
  bool abandon() noexcept override {
    waiting_.forget();
    const bool captured = std::exchange(capturing_, false);
    if (captured) {
      tryEndCapture(context_.compute);
      recording_->executable.reset();
      recording_->refused = true;
    }
    ranks_.abandon(captured);
    settle();
    return captured;
  }

  void fill(std::byte* address, std::byte value, std::size_t count) override {
    check(cudaMemsetAsync(address, static_cast<int>(value), count, context_.compute), "filling memory");
  }
  void upload(std::byte* address, const std::byte* bytes, std::size_t count) override {
    check(cudaMemcpyAsync(address, bytes, count, cudaMemcpyHostToDevice, context_.compute), "copying to the device");
    synchronise("copying to the device");
  }
  void download(const std::byte* address, std::byte* bytes, std::size_t count) const override {
    check(cudaMemcpyAsync(bytes, address, count, cudaMemcpyDeviceToHost, context_.compute), "copying from the device");
    synchronise("copying from the device");
  }
  std::size_t arenaPeakBytes() const override {
    return arena_.wholePages(highestChange(context_.compute, arena_.memory(), arena_.memoryBytes(), found_.get()));
  }
  std::size_t hostPeakBytes() const override { return highestChange(context_.compute, hostPool_.get(), hostBytes_, found_.get()); }
  bool surroundingsIntact() const override { return true; }

 private:
  cudaStream_t stream(Engine engine) const {
    if (engine == Engine::network) return ranks_.stream();
    return engine == Engine::compute ? context_.compute : of(streams_, engine).get();
  }
  std::vector<Engine> others() const {
    return exchanges_ ? std::vector<Engine>{Engine::toDevice, Engine::toHost, Engine::network}
                      : std::vector<Engine>{Engine::toDevice, Engine::toHost};
  }

  // What is queued on `later` from now on comes after all that is on `earlier`.
  void follow(cudaStream_t later, cudaStream_t earlier) {
    check(cudaEventRecord(order_.get(), earlier), "recording an event");
    check(cudaStreamWaitEvent(later, order_.get(), 0), "waiting for an event");
  }

  // False where there is nothing to run, since not all was given.
  bool finishCapture(bool whole) {
    const Graph graph = endCapture(context_.compute);
    if (whole)
      recording_->executable = instantiate(graph);
    else
      capturing_ = false;
    return whole;
  }

  // NCCL wants an exchange in a graph on all ranks, or on none. Asked once, while nothing is queued
  // that others would wait for.
  bool agreeOnGraph() {
    if (!exchanges_ || !recording_->hasRun || recording_->isAgreed) return true;
    recording_->isAgreed = true;
    recording_->refused = !ranks_.agree(capturing_, *progress_);
    return !recording_->refused;
  }

  // Of its own streams alone: others of this GPU may be under capture.
  void settle() const {
    for (const Engine engine : {Engine::compute, Engine::toDevice, Engine::toHost, Engine::network})
      static_cast<void>(cudaStreamSynchronize(stream(engine)));
    static_cast<void>(cudaGetLastError());
  }

  void synchronise(const char* what) const { check(cudaStreamSynchronize(context_.compute), what); }

  Context& context_;
  DeviceArena arena_;
  std::size_t hostBytes_;
  PinnedMemory<std::byte> hostPool_, stepIo_;
  StepInput input_;
  DeviceMemory<Fault> fault_;
  // A copy to memory that is not pinned would itself wait, and watch no rank.
  PinnedMemory<Fault> readFault_;
  DeviceMemory<unsigned long long> found_;
  PerEngine<Stream> streams_;  // of the copy engines; compute's is the context's
  RankLink ranks_;
  Event order_ = makeEvent();
  std::vector<Event> events_;
  std::map<std::string, RecordedSection> recordings_;
  RecordedSection unrecorded_{false, true, true, {}};  // of runs that leave instructions out
  EventTimer timer_;
  LaunchQueue waiting_{context_};  // of the compute engine
  const RowCopies copies_;
  const StepParameters none_{};

  // Of the section under way.
  RecordedSection* recording_ = nullptr;
  const Progress* progress_ = nullptr;
  bool exchanges_ = false;  // with other ranks
  bool capturing_ = false;  // or the graph that came of it has not been launched
  std::byte* given_ = nullptr;
  std::size_t stepIoBytes_ = 0;
};

}  // namespace

std::unique_ptr<Engines> makeCudaEngines(const Spaces& spaces, double linkBytesPerSecond, Context& context) {
  return std::make_unique<CudaEngines>(spaces, linkBytesPerSecond, context);
}

}  // namespace tilefold::cuda
