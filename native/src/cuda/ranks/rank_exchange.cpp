#include "rank_exchange.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include "../context/check.hpp"
#include "nccl_exchange.hpp"

namespace tilefold::cuda {
namespace {

// What a rank says of itself before the first exchange.
struct Introduction {
  std::string why;  // it cannot; empty where it can
  std::string transport, version, gpu, uuid, id;
};

constexpr std::string Introduction::*fields[] = {&Introduction::why, &Introduction::transport, &Introduction::version,
                                                 &Introduction::gpu, &Introduction::uuid,      &Introduction::id};

// Each field after its length.
std::vector<std::byte> encode(const Introduction& introduction) {
  std::vector<std::byte> bytes;
  for (const auto field : fields) {
    const std::string& text = introduction.*field;
    const std::uint32_t length = static_cast<std::uint32_t>(text.size());
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof(length) + length);
    std::memcpy(bytes.data() + at, &length, sizeof(length));
    std::memcpy(bytes.data() + at + sizeof(length), text.data(), length);
  }
  return bytes;
}

// Of another rank of the same build, which has agreed on that.
Introduction decode(const std::vector<std::byte>& bytes) {
  Introduction introduction;
  std::size_t at = 0;
  for (const auto field : fields) {
    std::uint32_t length = 0;
    if (bytes.size() - at < sizeof(length)) throw Failure("a rank of another build came: start all ranks with the same build");
    std::memcpy(&length, bytes.data() + at, sizeof(length));
    at += sizeof(length);
    if (bytes.size() - at < length) throw Failure("a rank of another build came: start all ranks with the same build");
    (introduction.*field).assign(reinterpret_cast<const char*>(bytes.data() + at), length);
    at += length;
  }
  return introduction;
}

bool byHost() {
  const char* given = std::getenv("TILEFOLD_NCCL_PATH");
  return given != nullptr && std::string(given) == "none";
}

void introduceGpu(Introduction& introduction) {
  int device = 0;
  cudaDeviceProp gpu{};
  check(cudaGetDevice(&device), "asking for the current device");
  check(cudaGetDeviceProperties(&gpu, device), "asking the GPU");
  introduction.gpu = gpu.name;
  introduction.uuid.assign(gpu.uuid.bytes, sizeof(gpu.uuid.bytes));
}

std::string named(std::size_t rank) { return "rank " + std::to_string(rank); }

// The same sentence on all ranks.
void refuse(const std::vector<Introduction>& ranks) {
  const Introduction& first = ranks.front();
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const Introduction& one = ranks[rank];
    const auto refuseOther = [&](const char* what, const std::string& wanted, const std::string& found, const char* remedy) {
      if (wanted != found) throw Failure(named(rank) + " has " + what + " " + found + " where rank 0 has " + wanted + ": " + remedy);
    };
    if (!one.why.empty()) throw Failure(one.why.compare(0, 5, "rank ") == 0 ? one.why : named(rank) + ": " + one.why);
    refuseOther("exchanges by", first.transport, one.transport, "give TILEFOLD_NCCL_PATH to all ranks alike");
    refuseOther("NCCL", first.version, one.version, "install the same everywhere, or name it in TILEFOLD_NCCL_PATH");
    refuseOther("the GPU", first.gpu, one.gpu, "GPUs of other models round differently, so start ranks on those of one model");
    if (one.transport == "NCCL")
      for (std::size_t other = 0; other < rank; ++other)
        if (ranks[other].uuid == one.uuid)
          throw Failure(named(other) + " and " + named(rank) + " have the same GPU (" + one.gpu +
                        "): start at most one rank for each GPU of a machine, or set TILEFOLD_NCCL_PATH to none to exchange through the "
                        "host");
  }
}

}  // namespace

std::unique_ptr<RankExchange> makeRankExchange(Network& network, const Progress& progress) {
  Introduction own;
  nccl::Api api;
  try {
    introduceGpu(own);
    own.transport = byHost() ? "the host" : "NCCL";
    if (!byHost()) {
      api = openNccl();
      int version = 0;
      check(api, api.ncclGetVersion(&version), "ncclGetVersion", network.rank());
      own.version = std::to_string(version);
      if (network.rank() == 0) {
        nccl::UniqueId id{};
        check(api, api.ncclGetUniqueId(&id), "ncclGetUniqueId", 0);
        own.id.assign(id.bytes, sizeof(id.bytes));
      }
    }
  } catch (const Failure& failure) {
    own.why = failure.what();
  }
  const auto gathered = gatherUnless(network, encode(own), [&progress] { return progress.ended(); });
  if (!gathered) return nullptr;
  std::vector<Introduction> ranks;
  for (const std::vector<std::byte>& bytes : *gathered) ranks.push_back(decode(bytes));
  refuse(ranks);
  if (byHost()) return makeHostExchange(network);
  nccl::UniqueId id{};
  std::memcpy(id.bytes, ranks.front().id.data(), sizeof(id.bytes));
  return makeNcclExchange(network, api, id, progress);
}

}  // namespace tilefold::cuda
