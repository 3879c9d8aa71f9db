// NCCL by memcpy between ranks that are threads of this process, of the functions in nccl_api.hpp.
// It holds to what NCCL's manual asks for: all ranks come, what one sends another receives in the
// same order, as many bytes, and both in a graph or neither. Whoever tests what fails sets
// TILEFOLD_EMULATED_NCCL to `call=result@rank`, such as `ncclSend=3@1`, or `version=21304`.
#include "../../src/cuda/libraries/nccl_api.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime.hpp"

namespace tilefold::cuda::nccl {

using Id = std::array<char, sizeof(UniqueId)>;

// One side of a message, until the other comes.
struct Side {
  void* memory;
  std::size_t bytes;
  bool isCaptured;
  CommunicatorObject* owner;
  std::shared_ptr<int> missing;
};

// The ranks of an id, and what they have posted by (from, to).
struct Clique {
  int size = 0, come = 0;
  std::map<std::pair<int, int>, std::deque<Side>> sends, receives;
};

struct CommunicatorObject {
  int rank = 0;
  std::shared_ptr<Clique> clique;
  bool isAborted = false;
  Result state = Result::success;
};

}  // namespace tilefold::cuda::nccl

using namespace tilefold::cuda::nccl;
using tilefold::emulated::enqueueExchange;

namespace {

constexpr Result invalidArgument{4}, invalidUsage{5};
constexpr int version = 22705;

std::recursive_mutex access;
using Lock = std::lock_guard<std::recursive_mutex>;
std::map<Id, std::weak_ptr<Clique>> cliques;
int ids = 0;

struct Queued {
  bool isSend;
  void* memory;
  std::size_t bytes;
  int rank;
  CommunicatorObject* communicator;
  cudaStream_t stream;
};
thread_local int depth = 0;
thread_local std::vector<Queued> group;
thread_local int threadsRank = -1;  // of the last communicator that was made here

// What a call of a rank is to give instead of what it does.
Result injected(const std::string& call, int rank) {
  const char* told = std::getenv("TILEFOLD_EMULATED_NCCL");
  const std::string text = told == nullptr ? "" : told;
  if (text.compare(0, call.size() + 1, call + "=") != 0) return Result::success;
  const std::size_t at = text.find('@');
  return std::atoi(text.c_str() + at + 1) == rank ? Result{std::atoi(text.c_str() + call.size() + 1)} : Result::success;
}

void match(Clique& clique, std::pair<int, int> way) {
  std::deque<Side>&sends = clique.sends[way], &receives = clique.receives[way];
  while (!sends.empty() && !receives.empty()) {
    const Side from = sends.front(), to = receives.front();
    sends.pop_front();
    receives.pop_front();
    if (from.bytes != to.bytes || from.isCaptured != to.isCaptured) {
      from.owner->state = to.owner->state = invalidUsage;
      continue;
    }
    std::memcpy(to.memory, from.memory, from.bytes);
    --*from.missing;
    --*to.missing;
  }
}

void forget(std::map<std::pair<int, int>, std::deque<Side>>& all, const CommunicatorObject* owner) {
  for (auto& [way, sides] : all)
    sides.erase(std::remove_if(sides.begin(), sides.end(), [&](const Side& side) { return side.owner == owner; }), sides.end());
}

// Communicators stay until the process ends: streams may still ask for what was aborted.
std::vector<std::unique_ptr<CommunicatorObject>> communicators;

void post(const std::vector<Queued>& queued, bool isCaptured, const std::shared_ptr<int>& missing) {
  const Lock lock(access);
  *missing = static_cast<int>(queued.size());
  for (const Queued& one : queued) {
    CommunicatorObject& own = *one.communicator;
    if (own.isAborted) continue;
    const std::pair<int, int> way = one.isSend ? std::pair(own.rank, one.rank) : std::pair(one.rank, own.rank);
    (one.isSend ? own.clique->sends : own.clique->receives)[way].push_back({one.memory, one.bytes, isCaptured, &own, missing});
    match(*own.clique, way);
  }
}

Result add(Queued queued) {
  if (depth == 0 || queued.bytes == 0 || queued.memory == nullptr) return invalidUsage;
  if (queued.rank < 0 || queued.rank >= queued.communicator->clique->size) return invalidArgument;
  group.push_back(queued);
  return Result::success;
}

}  // namespace

extern "C" {

Result ncclGetVersion(int* found) {
  const char* told = std::getenv("TILEFOLD_EMULATED_NCCL");
  *found = told != nullptr && std::strncmp(told, "version=", 8) == 0 ? std::atoi(told + 8) : version;
  return Result::success;
}
const char* ncclGetErrorString(Result result) {
  static thread_local std::string text;
  text = "result " + std::to_string(static_cast<int>(result)) + " of the emulated NCCL";
  return text.c_str();
}
const char* ncclGetLastError(Communicator) { return "as a test has it"; }

Result ncclGetUniqueId(UniqueId* id) {
  if (const Result told = injected("ncclGetUniqueId", 0); told != Result::success) return told;
  const Lock lock(access);
  *id = {};
  ++ids;
  std::memcpy(id->bytes, &ids, sizeof(ids));
  return Result::success;
}

Result ncclCommInitRankConfig(Communicator* communicator, int ranks, UniqueId id, int rank, Config* config) {
  if (const Result told = injected("ncclCommInitRankConfig", rank); told != Result::success) return told;
  if (config->size != 24 || config->magic != 0xcafebeef || config->version != 21400 || config->blocking != 0) return invalidArgument;
  if (rank < 0 || rank >= ranks) return invalidArgument;
  const Lock lock(access);
  Id key{};
  std::memcpy(key.data(), id.bytes, sizeof(id.bytes));
  std::shared_ptr<Clique> clique = cliques[key].lock();
  if (!clique) cliques[key] = clique = std::make_shared<Clique>();
  if (clique->size != 0 && clique->size != ranks) return invalidArgument;
  clique->size = ranks;
  ++clique->come;
  threadsRank = rank;
  communicators.push_back(std::make_unique<CommunicatorObject>());
  *communicator = communicators.back().get();
  (*communicator)->rank = rank;
  (*communicator)->clique = std::move(clique);
  return Result::inProgress;
}

Result ncclCommGetAsyncError(Communicator communicator, Result* state) {
  if (const Result told = injected("ncclCommGetAsyncError", communicator->rank); told != Result::success) return told;
  const Lock lock(access);
  *state = communicator->clique->come < communicator->clique->size ? Result::inProgress : communicator->state;
  if (const Result told = injected("state", communicator->rank); told != Result::success) *state = told;
  return Result::success;
}

Result ncclCommFinalize(Communicator communicator) { return injected("ncclCommFinalize", communicator->rank); }
Result ncclCommDestroy(Communicator communicator) { return injected("ncclCommDestroy", communicator->rank); }

Result ncclCommAbort(Communicator communicator) {
  const Lock lock(access);
  communicator->isAborted = true;
  forget(communicator->clique->sends, communicator);
  forget(communicator->clique->receives, communicator);
  return injected("ncclCommAbort", communicator->rank);
}

Result ncclGroupStart() {
  if (const Result told = injected("ncclGroupStart", threadsRank); told != Result::success) return told;
  ++depth;
  return Result::success;
}

Result ncclGroupEnd() {
  if (depth == 0) return invalidUsage;
  if (--depth > 0) return Result::success;
  const std::vector<Queued> queued = std::exchange(group, {});
  if (const Result told = injected("ncclGroupEnd", threadsRank); told != Result::success) return told;
  if (queued.empty()) return Result::success;
  const cudaStream_t stream = queued.front().stream;
  cudaStreamCaptureStatus status{};
  cudaStreamIsCapturing(stream, &status);
  const auto missing = std::make_shared<int>(0);
  enqueueExchange(
      stream, [queued, missing, isCaptured = status == cudaStreamCaptureStatusActive] { post(queued, isCaptured, missing); },
      [missing, communicator = queued.front().communicator] {
        const Lock lock(access);
        return *missing == 0 || communicator->isAborted;
      });
  return Result::inProgress;
}

Result ncclSend(const void* from, std::size_t count, DataType type, int rank, Communicator communicator, cudaStream_t stream) {
  if (const Result told = injected("ncclSend", communicator->rank); told != Result::success) return told;
  return type == DataType::uint8 ? add({true, const_cast<void*>(from), count, rank, communicator, stream}) : invalidArgument;
}
Result ncclRecv(void* to, std::size_t count, DataType type, int rank, Communicator communicator, cudaStream_t stream) {
  if (const Result told = injected("ncclRecv", communicator->rank); told != Result::success) return told;
  return type == DataType::uint8 ? add({false, to, count, rank, communicator, stream}) : invalidArgument;
}

}  // extern "C"
