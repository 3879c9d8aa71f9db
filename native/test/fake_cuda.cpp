#include "fake_cuda.hpp"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

// Work of a stream: an action, or a record of an event, or a wait for one of its records.
namespace tilefold::test {
namespace {

struct Item {
  std::function<void()> action;
  CUevent_st* event = nullptr;
  std::uint64_t version = 0;
  bool waits = false;
};

using Queues = std::map<CUstream_st*, std::deque<Item>>;
using Reached = std::map<CUevent_st*, std::set<std::uint64_t>>;  // the records of each event

std::mt19937 order(1);
int launched = 0;

// Runs everything, one random ready item after another. False where what is left waits for what never comes.
bool drain(Queues& queues, Reached& reached) {
  while (true) {
    std::vector<std::deque<Item>*> ready;
    bool left = false;
    for (auto& [stream, items] : queues) {
      if (items.empty()) continue;
      left = true;
      const Item& item = items.front();
      if (!item.waits || item.version == 0 || reached[item.event].count(item.version) > 0) ready.push_back(&items);
    }
    if (!left) return true;
    if (ready.empty()) return false;
    std::deque<Item>& items = *ready[std::uniform_int_distribution<std::size_t>(0, ready.size() - 1)(order)];
    const Item item = std::move(items.front());
    items.pop_front();
    if (item.action) item.action();
    if (item.event != nullptr && !item.waits) reached[item.event].insert(item.version);
  }
}

}  // namespace
}  // namespace tilefold::test

using namespace tilefold::test;

struct CUstream_st {};
struct CUevent_st {
  std::uint64_t recorded = 0;
  bool captured = false;  // the latest record was on a stream under capture
};
struct CUgraph_st {
  Queues queues;
};
struct CUgraphExec_st {
  Queues queues;
};

namespace tilefold::test {
namespace {

Queues pending;
Reached reachedEvents;

// The capture under way: its first stream, those that joined it by waiting for it, and those with work that has not joined back.
struct Capture {
  CUstream_st* origin = nullptr;
  std::set<CUstream_st*> streams, unjoined;
  std::map<CUevent_st*, CUstream_st*> recordedBy;
  std::unique_ptr<CUgraph_st> graph;
} capture;

bool captured(CUstream_st* stream) { return capture.graph && capture.streams.count(stream) > 0; }

void push(CUstream_st* stream, Item item) {
  if (!captured(stream)) {
    pending[stream].push_back(std::move(item));
    return;
  }
  if (stream != capture.origin) capture.unjoined.insert(stream);
  capture.graph->queues[stream].push_back(std::move(item));
}

cudaError_t synchronise() {
  if (capture.graph) return cudaErrorStreamCaptureUnsupported;
  return drain(pending, reachedEvents) ? cudaSuccess : cudaErrorUnknown;
}

}  // namespace

void enqueue(cudaStream_t stream, std::function<void()> work) { push(stream, {std::move(work)}); }
void shuffleStreams(unsigned seed) { order.seed(seed); }
int graphsLaunched() { return launched; }

}  // namespace tilefold::test

const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "no error" : "an error of the fake CUDA"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  const cudaError_t status = synchronise();
  if (status == cudaSuccess) std::memcpy(to, from, bytes);
  return status;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t toStride, const void* from, std::size_t fromStride, std::size_t bytes,
                              std::size_t rows, cudaMemcpyKind, cudaStream_t stream) {
  if (toStride < bytes || fromStride < bytes) return cudaErrorInvalidPitchValue;
  enqueue(stream, [=] {
    for (std::size_t row = 0; row < rows; ++row)
      std::memcpy(static_cast<char*>(to) + row * toStride, static_cast<const char*>(from) + row * fromStride, bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  enqueue(stream, [=] { std::memset(memory, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = std::make_unique<CUstream_st>().release();
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::unique_ptr<CUstream_st> owned(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return synchronise(); }
cudaError_t cudaDeviceSynchronize() { return synchronise(); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = std::make_unique<CUevent_st>().release();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  reachedEvents.erase(event);
  const std::unique_ptr<CUevent_st> owned(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->captured = captured(stream);
  if (event->captured) capture.recordedBy[event] = stream;
  push(stream, {{}, event, ++event->recorded, false});
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (capture.graph && captured(stream) != event->captured) {
    if (!event->captured) return cudaErrorStreamCaptureIsolation;
    capture.streams.insert(stream);
  }
  push(stream, {{}, event, event->recorded, true});
  if (captured(stream) && stream == capture.origin) capture.unjoined.erase(capture.recordedBy[event]);
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return synchronise(); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (capture.graph) return cudaErrorIllegalState;
  capture.origin = stream;
  capture.streams = {stream};
  capture.unjoined.clear();
  capture.recordedBy.clear();
  capture.graph = std::make_unique<CUgraph_st>();
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  if (!capture.graph || stream != capture.origin) return cudaErrorIllegalState;
  if (!capture.unjoined.empty()) return cudaErrorStreamCaptureUnjoined;
  *graph = capture.graph.release();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = std::make_unique<CUgraphExec_st>(CUgraphExec_st{graph->queues}).release();
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  ++launched;
  enqueue(stream, [executable] {
    Queues queues = executable->queues;
    Reached reached;
    if (!drain(queues, reached)) std::abort();
  });
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::unique_ptr<CUgraph_st> owned(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const std::unique_ptr<CUgraphExec_st> owned(executable);
  return cudaSuccess;
}
