#include "nccl_exchange.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "../context/check.hpp"
#include "../libraries/shared_library.hpp"

namespace tilefold::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::microseconds pollsEvery{50};
// What others may take to come to their end, before this rank ends by itself.
constexpr std::chrono::seconds mostToFinish{10};
// Since when calls may return before all ranks have come.
constexpr int leastVersion = 21400;

std::string versionText(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

class NcclExchange : public RankExchange {
 public:
  NcclExchange(Network& network, const nccl::Api& api) : network_(network), api_(api) {}

  // Before all else. False when the run ended first.
  bool connect(const nccl::UniqueId& id, const Progress& progress) {
    nccl::Config config;
    const nccl::Result result = api_.ncclCommInitRankConfig(&communicator_, network_.size(), id, network_.rank(), &config);
    return await(result, "ncclCommInitRankConfig", progress);
  }

  // What was queued has ended: graphs of it, and the stream, may be gone. All results are there:
  // what NCCL fails to release now is the process's until its end.
  ~NcclExchange() override {
    if (communicator_ == nullptr) return;
    nccl::Result state = api_.ncclCommFinalize(communicator_);
    const Clock::time_point begun = Clock::now();
    while (state == nccl::Result::inProgress && Clock::now() - begun < mostToFinish) {
      std::this_thread::sleep_for(pollsEvery);
      if (api_.ncclCommGetAsyncError(communicator_, &state) != nccl::Result::success) break;
    }
    if (state == nccl::Result::success)
      static_cast<void>(api_.ncclCommDestroy(communicator_));
    else
      abort();
  }

  bool exchange(const std::vector<RankBuffers>& parts, cudaStream_t stream, const Progress& progress) override {
    refuseAfterEnd();
    const RankBuffers& own = parts[static_cast<std::size_t>(network_.rank())];
    if (own.sendBytes > 0)
      check(cudaMemcpyAsync(own.receive, own.send, own.sendBytes, cudaMemcpyDeviceToDevice, stream), "copying a rank's own part");
    note(api_.ncclGroupStart(), "ncclGroupStart");
    // A group that has begun is ended whatever fails in it: it is the thread's.
    std::optional<Failure> failure;
    try {
      for (int rank = 0; rank < network_.size(); ++rank)
        if (rank != network_.rank()) queue(parts[static_cast<std::size_t>(rank)], rank, stream);
    } catch (const Failure& found) {
      failure = found;
    }
    const nccl::Result ended = api_.ncclGroupEnd();
    if (failure) throw *failure;
    return await(ended, "ncclGroupEnd", progress);
  }

  bool queues() const override { return true; }

  bool watch(Clock::time_point begun, const Progress& progress) override {
    refuseAfterEnd();
    nccl::Result state = nccl::Result::success;
    note(api_.ncclCommGetAsyncError(communicator_, &state), "ncclCommGetAsyncError");
    note(state, "an exchange");
    return goesOn("an exchange", begun, progress);
  }

  void abort() noexcept override {
    if (communicator_ != nullptr) static_cast<void>(api_.ncclCommAbort(std::exchange(communicator_, nullptr)));
  }

 private:
  void queue(const RankBuffers& part, int rank, cudaStream_t stream) {
    if (part.sendBytes > 0)
      note(api_.ncclSend(part.send, part.sendBytes, nccl::DataType::uint8, rank, communicator_, stream), "ncclSend");
    if (part.receiveBytes > 0)
      note(api_.ncclRecv(part.receive, part.receiveBytes, nccl::DataType::uint8, rank, communicator_, stream), "ncclRecv");
  }

  // Until what has begun is on its stream. False when the run ended first.
  bool await(nccl::Result result, const char* call, const Progress& progress) {
    const Clock::time_point begun = Clock::now();
    while (true) {
      note(result, call);
      if (result != nccl::Result::inProgress) return true;
      if (!goesOn(call, begun, progress)) return false;
      std::this_thread::sleep_for(pollsEvery);
      note(api_.ncclCommGetAsyncError(communicator_, &result), "ncclCommGetAsyncError");
    }
  }

  bool goesOn(const char* call, Clock::time_point begun, const Progress& progress) {
    if (progress.ended()) {
      abort();
      return false;
    }
    const std::optional<std::string> late = network_.lateness(begun);
    if (!late) return true;
    abort();
    throw Failure("rank " + std::to_string(network_.rank()) + ": NCCL: " + call + " has not ended in " + *late +
                  ": another rank hangs, or the connection to it");
  }

  // Of the communicator, which is of no use after a failure.
  void note(nccl::Result result, const char* call) {
    try {
      check(api_, result, call, network_.rank(), communicator_);
    } catch (const Failure&) {
      abort();
      throw;
    }
  }

  void refuseAfterEnd() const {
    if (communicator_ == nullptr)
      throw Failure("rank " + std::to_string(network_.rank()) + " has ended its exchanges by NCCL: start the training again");
  }

  Network& network_;
  nccl::Api api_;
  nccl::Communicator communicator_ = nullptr;
};

std::vector<std::filesystem::path> ncclFolders() {
  const char* given = std::getenv("TILEFOLD_NCCL_PATH");
  if (given == nullptr || *given == '\0') return libraryFolders();
  const std::filesystem::path path(given);
  std::error_code error;
  if (!path.is_absolute())
    throw Failure("TILEFOLD_NCCL_PATH is " + path.string() + ", which is no absolute path: give one, or none to exchange through the host");
  return {std::filesystem::is_regular_file(path, error) ? path.parent_path() : path};
}

}  // namespace

nccl::Api openNccl() {
  const std::vector<std::filesystem::path> folders = ncclFolders();
  const std::optional<SharedLibrary> library = SharedLibrary::find({"libnccl.so.2"}, folders);
  if (!library)
    throw Failure("ranks on GPUs need NCCL (libnccl.so.2), which does not load from " + listFolders(folders) +
                  ": install it, as pip does with PyTorch, or set TILEFOLD_NCCL_PATH to its folder, or to none to exchange through the "
                  "host by MPI, which is slower");
  nccl::Api api;
#define TILEFOLD_RESOLVE(name, result, arguments) library->resolve(#name, api.name);
  TILEFOLD_NCCL_FUNCTIONS(TILEFOLD_RESOLVE)
#undef TILEFOLD_RESOLVE
  int version = 0;
  if (api.ncclGetVersion(&version) != nccl::Result::success) throw Failure("NCCL: ncclGetVersion failed");
  if (version < leastVersion)
    throw Failure("ranks on GPUs need NCCL 2.14 or newer, but libnccl.so.2 says that it is " + versionText(version) +
                  ": install a newer one, or set TILEFOLD_NCCL_PATH to the folder of one");
  return api;
}

void check(const nccl::Api& api, nccl::Result result, const char* call, int rank, nccl::Communicator communicator) {
  if (result == nccl::Result::success || result == nccl::Result::inProgress) return;
  const char* detail = api.ncclGetLastError(communicator);
  throw Failure("rank " + std::to_string(rank) + ": NCCL: " + call + " failed (" + api.ncclGetErrorString(result) +
                (detail == nullptr || *detail == '\0' ? "" : std::string(", ") + detail) + ")");
}

std::unique_ptr<RankExchange> makeNcclExchange(Network& network, const nccl::Api& api, const nccl::UniqueId& id, const Progress& progress) {
  auto exchange = std::make_unique<NcclExchange>(network, api);
  if (!exchange->connect(id, progress)) return nullptr;
  return exchange;
}

}  // namespace tilefold::cuda
