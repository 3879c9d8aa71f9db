// The part of NCCL's C interface that this uses, since NCCL 2.14, declared here so that a build
// needs no headers of NCCL: the library is opened at run time (nccl_exchange.cpp).
#pragma once
#include <cuda_runtime_api.h>

#include <climits>
#include <cstddef>

namespace tilefold::cuda::nccl {

using Communicator = struct CommunicatorObject*;  // ncclComm_t

enum class Result : int { success = 0, inProgress = 7 };
enum class DataType : int { uint8 = 1 };

struct UniqueId {
  char bytes[128];
};

// ncclConfig_t as NCCL 2.14 knows it; a newer one takes its own values for all that came later. It
// says its size and version itself.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21400;
  int blocking = 0;
  int unused = INT_MIN;
};
static_assert(sizeof(Config) == 24, "as large as NCCL 2.14 has it");

// X(name, result, arguments) for each function.
#define TILEFOLD_NCCL_FUNCTIONS(X)                                                                                         \
  X(ncclGetVersion, Result, (int* version))                                                                                \
  X(ncclGetErrorString, const char*, (Result result))                                                                      \
  X(ncclGetLastError, const char*, (Communicator communicator))                                                            \
  X(ncclGetUniqueId, Result, (UniqueId * id))                                                                              \
  X(ncclCommInitRankConfig, Result, (Communicator * communicator, int ranks, UniqueId id, int rank, Config* config))       \
  X(ncclCommFinalize, Result, (Communicator communicator))                                                                 \
  X(ncclCommDestroy, Result, (Communicator communicator))                                                                  \
  X(ncclCommAbort, Result, (Communicator communicator))                                                                    \
  X(ncclCommGetAsyncError, Result, (Communicator communicator, Result * state))                                            \
  X(ncclGroupStart, Result, ())                                                                                            \
  X(ncclGroupEnd, Result, ())                                                                                              \
  X(ncclSend, Result, (const void* from, std::size_t count, DataType, int rank, Communicator communicator, cudaStream_t))  \
  X(ncclRecv, Result, (void* to, std::size_t count, DataType, int rank, Communicator communicator, cudaStream_t))

struct Api {
#define TILEFOLD_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
  TILEFOLD_NCCL_FUNCTIONS(TILEFOLD_MEMBER)
#undef TILEFOLD_MEMBER
};

}  // namespace tilefold::cuda::nccl
