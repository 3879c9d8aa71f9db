// Streams, events and captured graphs of CUDA, freed with their owner.
#pragma once
#include <memory>

#include "../context/check.hpp"

namespace tilefold::cuda {

struct DestroyStream {
  void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
};
struct DestroyEvent {
  void operator()(cudaEvent_t event) const { static_cast<void>(cudaEventDestroy(event)); }
};
struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};
struct DestroyExecutable {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};

using Stream = std::unique_ptr<CUstream_st, DestroyStream>;
using Event = std::unique_ptr<CUevent_st, DestroyEvent>;
using Graph = std::unique_ptr<CUgraph_st, DestroyGraph>;
using ExecutableGraph = std::unique_ptr<CUgraphExec_st, DestroyExecutable>;

inline Stream makeStream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  return Stream(stream);
}

inline Event makeEvent(bool timed = false) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, timed ? cudaEventDefault : cudaEventDisableTiming), "making an event");
  return Event(event);
}

}  // namespace tilefold::cuda
