#include "runtime.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "guarded_memory.hpp"

namespace tilefold::emulated {
namespace {

constexpr std::size_t deviceBytes = std::size_t{8} << 30;
constexpr unsigned maxThreads = 1024, maxRows = 65535;  // of a block, and blocks along y and z
constexpr std::size_t maxSharedBytes = 227 * 1024;  // that a launch asks for, of compute capability 9.0
constexpr int mostLooks = 60000;                         // of a millisecond, at what other threads bring
constexpr unsigned maxPitch = 1 << 10;                   // far less than a GPU's: tests are small

// One record of an event.
struct Record {
  bool reached = false;
};

// Work of a stream: an action, or a record, or a wait for one, or for what `ready` says.
struct Item {
  std::function<void()> action;
  std::shared_ptr<Record> records, awaits;
  std::function<bool()> ready{};
  bool ofOthers = false;  // other threads make it ready
};

using Queues = std::map<int, std::deque<Item>>;  // by the stream's number

// What a stream gets until its capture ends: its first stream, those that joined it, and those with
// work that has not joined back.
struct Capture {
  CUstream_st* origin = nullptr;
  std::set<CUstream_st*> streams, unjoined;
  Queues queues;
  bool invalid = false, ended = false;
};

std::mutex access;
std::mt19937 order(1);
int streams = 0, launched = 0, kernels = 0;
int capability[]{9, 0};  // major, minor
Queues pending;
std::map<std::thread::id, std::shared_ptr<Capture>> captures;  // by the thread that captures
std::map<const std::byte*, std::size_t> deviceMemory, pinnedMemory;
std::size_t deviceBytesTaken = 0;
std::string complaint;  // of work that failed
thread_local cudaError_t lastError = cudaSuccess;

}  // namespace
}  // namespace tilefold::emulated

using namespace tilefold::emulated;

struct CUstream_st {
  int number = 0;
  std::shared_ptr<Capture> capture;
};
struct CUevent_st {
  std::shared_ptr<Record> record;    // the latest
  CUstream_st* stream = nullptr;     // that it is on
  std::shared_ptr<Capture> capture;  // that it is part of
};
struct CUgraph_st {
  Queues queues;
};
struct CUgraphExec_st {
  Queues queues;
};

namespace tilefold::emulated {
namespace {

using Lock = std::lock_guard<std::mutex>;

void act(const Item& item) {
  try {
    item.action();
  } catch (const std::exception& failure) {
    complaint = failure.what();
  }
}

bool isReady(const Item& item) { return (!item.awaits || item.awaits->reached) && (!item.ready || item.ready()); }

// Runs one random ready item after another until `done`. False where all that is left waits for
// what never comes.
template <class Done>
bool runUntil(Queues& queues, const Done& done) {
  std::vector<std::deque<Item>*> ready;
  while (!done()) {
    ready.clear();
    for (auto& [stream, items] : queues)
      if (!items.empty() && isReady(items.front())) ready.push_back(&items);
    if (ready.empty()) return false;
    std::deque<Item>& items = *ready[order() % ready.size()];
    const Item item = std::move(items.front());
    items.pop_front();
    if (item.action) act(item);
    if (item.records) item.records->reached = true;
  }
  return true;
}

bool empty(const Queues& queues) {
  for (const auto& [stream, items] : queues)
    if (!items.empty()) return false;
  return true;
}

bool waitsForOthers() {
  return std::any_of(pending.begin(), pending.end(), [](const auto& stream) {
    const std::deque<Item>& items = stream.second;
    return !items.empty() && items.front().ofOthers && !items.front().ready();
  });
}

// An error, which cudaGetLastError says once more.
cudaError_t answer(cudaError_t status) {
  if (status != cudaSuccess) lastError = status;
  return status;
}

// Of a thread under whose capture this call is forbidden.
bool forbidden() {
  const auto found = captures.find(std::this_thread::get_id());
  if (found == captures.end()) return false;
  found->second->invalid = true;
  return true;
}

template <class Done>
cudaError_t waitUntil(const Done& done, CUstream_st* stream = nullptr) {
  if (forbidden() || (stream != nullptr && stream->capture)) return answer(cudaErrorStreamCaptureUnsupported);
  // What waits for others goes on when their threads have come.
  for (int looks = 0; !runUntil(pending, done) && looks < mostLooks && waitsForOthers(); ++looks) {
    access.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    access.lock();
  }
  if (!done()) {
    complaint = "a stream waits for what never comes";
    return answer(cudaErrorUnknown);
  }
  return answer(complaint.empty() ? cudaSuccess : cudaErrorLaunchFailure);
}

cudaError_t push(CUstream_st* stream, Item item) {
  // The stream of all, which nothing here should use.
  if (stream == nullptr) return answer(cudaErrorInvalidResourceHandle);
  Capture* const capture = stream->capture.get();
  if (capture == nullptr) {
    pending[stream->number].push_back(std::move(item));
    return cudaSuccess;
  }
  if (stream != capture->origin) capture->unjoined.insert(stream);
  capture->queues[stream->number].push_back(std::move(item));
  return cudaSuccess;
}

cudaError_t endCapture(Capture& capture, cudaGraph_t* graph) {
  for (CUstream_st* stream : std::exchange(capture.streams, {})) stream->capture.reset();
  capture.ended = true;
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  if (!capture.unjoined.empty()) return cudaErrorStreamCaptureUnjoined;
  *graph = std::make_unique<CUgraph_st>(CUgraph_st{std::move(capture.queues)}).release();
  return cudaSuccess;
}

bool isWithin(const std::map<const std::byte*, std::size_t>& memory, const void* address, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(address);
  auto next = memory.upper_bound(first);
  if (next == memory.begin()) return false;
  --next;
  return first + bytes <= next->first + next->second;
}

bool onDevice(const void* address, std::size_t bytes) { return isWithin(deviceMemory, address, bytes); }

bool rightWay(const void* to, std::size_t toBytes, const void* from, std::size_t fromBytes, cudaMemcpyKind kind) {
  return onDevice(to, toBytes) == (kind != cudaMemcpyDeviceToHost) && onDevice(from, fromBytes) == (kind != cudaMemcpyHostToDevice);
}

}  // namespace

void addDeviceAddresses(const void* first, std::size_t bytes) {
  const Lock lock(access);
  deviceMemory[static_cast<const std::byte*>(first)] = bytes;
}
void removeDeviceAddresses(const void* first) {
  const Lock lock(access);
  deviceMemory.erase(static_cast<const std::byte*>(first));
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  const Lock lock(access);
  return push(stream, {std::move(work), nullptr, nullptr});
}

cudaError_t enqueueExchange(cudaStream_t stream, std::function<void()> begin, std::function<bool()> isDone) {
  const Lock lock(access);
  const cudaError_t status = push(stream, {std::move(begin), nullptr, nullptr});
  return status != cudaSuccess ? status : push(stream, {{}, nullptr, nullptr, std::move(isDone), true});
}

cudaError_t launch(const cudaLaunchConfig_t& config, std::function<void()> thread) {
  const dim3 grid = config.gridDim, block = config.blockDim;
  const bool some = grid.x > 0 && grid.y > 0 && grid.z > 0 && block.x > 0 && block.y > 0 && block.z > 0;
  const bool few = grid.x <= 0x7fffffff && grid.y <= maxRows && grid.z <= maxRows && block.x * block.y * block.z <= maxThreads &&
                   config.dynamicSmemBytes <= maxSharedBytes;
  const Lock lock(access);
  if (!some || !few) return answer(cudaErrorInvalidConfiguration);
  ++kernels;
  return push(config.stream, {[grid, block, run = std::move(thread)] { runBlocks(grid, block, run, order); }, nullptr, nullptr});
}

void shuffle(unsigned seed) {
  const Lock lock(access);
  order.seed(seed);
}

void setComputeCapability(int major, int minor) {
  const Lock lock(access);
  capability[0] = major;
  capability[1] = minor;
}

int graphsLaunched() {
  const Lock lock(access);
  return launched;
}

int kernelsLaunched() {
  const Lock lock(access);
  return kernels;
}

}  // namespace tilefold::emulated

const char* cudaGetErrorString(cudaError_t error) {
  const Lock lock(access);
  // Told once: whoever comes next finds a device that works.
  static thread_local std::string told;
  if (complaint.empty()) return error == cudaSuccess ? "no error" : "an error of the emulated CUDA";
  told = std::move(complaint);
  complaint.clear();
  return told.c_str();
}
cudaError_t cudaGetLastError() {
  const Lock lock(access);
  return std::exchange(lastError, cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute attribute, int value) {
  const bool fits = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value >= 0 && static_cast<std::size_t>(value) <= maxSharedBytes;
  return answer(fits ? cudaSuccess : cudaErrorInvalidValue);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = 2;  // grids are made for so many
      return cudaSuccess;
    case cudaDevAttrMaxPitch:
      *value = maxPitch;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = capability[0];
      return cudaSuccess;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      *value = 1000000;
      return cudaSuccess;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = 128;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "emulated CUDA on the processor");
  properties->totalGlobalMem = deviceBytes;
  // A GPU for each thread, unless they are to share one.
  static std::atomic<int> gpus{0};
  static thread_local const int own = ++gpus;
  const int gpu = std::getenv("TILEFOLD_EMULATED_ONE_GPU") == nullptr ? own : 0;
  std::memcpy(properties->uuid.bytes, &gpu, sizeof(gpu));
  properties->major = capability[0];
  properties->minor = capability[1];
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  const Lock lock(access);
  if (forbidden()) return answer(cudaErrorStreamCaptureUnsupported);
  if (bytes > deviceBytes - deviceBytesTaken) return answer(cudaErrorMemoryAllocation);
  *memory = takeGuarded(bytes);
  if (*memory == nullptr) return answer(cudaErrorMemoryAllocation);
  deviceMemory[static_cast<const std::byte*>(*memory)] = bytes;
  deviceBytesTaken += bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  const Lock lock(access);
  if (memory == nullptr) return cudaSuccess;
  const cudaError_t status = waitUntil([] { return empty(pending); });
  const auto found = deviceMemory.find(static_cast<const std::byte*>(memory));
  if (found == deviceMemory.end()) return answer(cudaErrorInvalidValue);
  deviceBytesTaken -= found->second;
  deviceMemory.erase(found);
  giveBackGuarded(memory);
  return status;
}
cudaError_t cudaMallocHost(void** memory, std::size_t bytes) {
  const Lock lock(access);
  if (forbidden()) return answer(cudaErrorStreamCaptureUnsupported);
  if (bytes > deviceBytes) return answer(cudaErrorMemoryAllocation);
  *memory = takeGuarded(bytes);
  if (*memory == nullptr) return answer(cudaErrorMemoryAllocation);
  pinnedMemory[static_cast<const std::byte*>(*memory)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* memory) {
  const Lock lock(access);
  const cudaError_t status = waitUntil([] { return empty(pending); });
  pinnedMemory.erase(static_cast<const std::byte*>(memory));
  giveBackGuarded(memory);
  return status;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const Lock lock(access);
  if (bytes == 0) return cudaSuccess;
  if (!rightWay(to, bytes, from, bytes, kind)) return answer(cudaErrorInvalidValue);
  const cudaError_t status = push(stream, {[=] { std::memcpy(to, from, bytes); }, nullptr, nullptr});
  // To memory that is not pinned a GPU may wait for its stream, so here it always does.
  if (status != cudaSuccess || kind != cudaMemcpyDeviceToHost || isWithin(pinnedMemory, to, bytes)) return status;
  return waitUntil([stream] { return pending[stream->number].empty(); }, stream);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t toStride, const void* from, std::size_t fromStride, std::size_t bytes,
                              std::size_t rows, cudaMemcpyKind kind, cudaStream_t stream) {
  const Lock lock(access);
  if (toStride < bytes || fromStride < bytes || toStride > maxPitch || fromStride > maxPitch) return answer(cudaErrorInvalidPitchValue);
  if (rows == 0) return cudaSuccess;
  if (!rightWay(to, (rows - 1) * toStride + bytes, from, (rows - 1) * fromStride + bytes, kind)) return answer(cudaErrorInvalidValue);
  return push(stream, {[=] {
                         for (std::size_t row = 0; row < rows; ++row)
                           std::memcpy(static_cast<char*>(to) + row * toStride, static_cast<const char*>(from) + row * fromStride, bytes);
                       },
                       nullptr,
                       nullptr});
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  const Lock lock(access);
  if (!onDevice(memory, bytes)) return answer(cudaErrorInvalidValue);
  return push(stream, {[=] { std::memset(memory, value, bytes); }, nullptr, nullptr});
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(access);
  *stream = std::make_unique<CUstream_st>().release();
  (*stream)->number = ++streams;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(access);
  const cudaError_t status = waitUntil([stream] { return pending[stream->number].empty(); });
  pending.erase(stream->number);
  const std::unique_ptr<CUstream_st> owned(stream);
  return status;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(access);
  return waitUntil([stream] { return pending[stream->number].empty(); }, stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Lock lock(access);
  if (forbidden() || stream->capture) return answer(cudaErrorStreamCaptureUnsupported);
  if (!runUntil(pending, [stream] { return pending[stream->number].empty(); })) return cudaErrorNotReady;
  return answer(complaint.empty() ? cudaSuccess : cudaErrorLaunchFailure);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = std::make_unique<CUevent_st>().release();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const Lock lock(access);
  const std::unique_ptr<CUevent_st> owned(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(access);
  event->record = std::make_shared<Record>();
  event->stream = stream;
  event->capture = stream->capture;
  return push(stream, {{}, event->record, nullptr});
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const Lock lock(access);
  if (!event->record) return cudaSuccess;  // what was never recorded is reached
  if (stream->capture != event->capture) {
    if (!event->capture || stream->capture) return answer(cudaErrorStreamCaptureIsolation);
    if (event->capture->ended) return answer(cudaErrorCapturedEvent);
    stream->capture = event->capture;
    stream->capture->streams.insert(stream);
  }
  const cudaError_t status = push(stream, {{}, nullptr, event->record});
  if (stream->capture && stream == stream->capture->origin) stream->capture->unjoined.erase(event->stream);
  return status;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(access);
  return waitUntil([event] { return !event->record || event->record->reached; });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;  // the processor's own time would say nothing of a GPU's
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  const Lock lock(access);
  if (captures.count(std::this_thread::get_id()) > 0 || stream->capture) return answer(cudaErrorIllegalState);
  stream->capture = captures[std::this_thread::get_id()] = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->streams = {stream};
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const Lock lock(access);
  *graph = nullptr;
  const auto own = captures.find(std::this_thread::get_id());
  if (own == captures.end() || own->second->origin != stream) return answer(cudaErrorIllegalState);
  const std::shared_ptr<Capture> capture = own->second;
  captures.erase(own);
  return answer(endCapture(*capture, graph));
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const Lock lock(access);
  *status = !stream->capture ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = std::make_unique<CUgraphExec_st>(CUgraphExec_st{graph->queues}).release();
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const Lock lock(access);
  ++launched;
  // Its queues are streams of their own, for whose end this one waits.
  const auto numbers = std::make_shared<std::vector<int>>();
  const auto begin = [executable, numbers] {
    for (auto& [number, items] : executable->queues) {
      for (const Item& item : items)
        if (item.records) item.records->reached = false;
      numbers->push_back(++streams);
      pending[streams] = items;
    }
  };
  const auto hasEnded = [numbers] {
    return std::all_of(numbers->begin(), numbers->end(), [](int number) { return pending[number].empty(); });
  };
  const auto remove = [numbers] {
    for (const int number : *numbers) pending.erase(number);
  };
  const cudaError_t status = push(stream, {begin, nullptr, nullptr});
  return status != cudaSuccess ? status : push(stream, {remove, nullptr, nullptr, hasEnded});
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::unique_ptr<CUgraph_st> owned(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const std::unique_ptr<CUgraphExec_st> owned(executable);
  return cudaSuccess;
}
