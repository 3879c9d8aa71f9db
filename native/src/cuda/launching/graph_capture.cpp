#include "graph_capture.hpp"

#include <algorithm>

namespace tilefold::cuda {
namespace {

constexpr std::int64_t maxNodes = 1 << 16;

// Launches and copies of a section, as often as loops run them; no more than one past maxNodes.
std::int64_t countNodes(const Code& code) {
  std::int64_t sum = 0;
  for (const Instruction& instruction : code) {
    const auto* loop = std::get_if<Loop>(&instruction);
    const std::int64_t body = loop == nullptr ? 1 : countNodes(loop->body), count = loop == nullptr ? 1 : loop->count;
    sum = body > 0 && count > (maxNodes + 1) / body ? maxNodes + 1 : std::min(sum + count * body, maxNodes + 1);
  }
  return sum;
}

}  // namespace

bool fitsGraph(const Code& code) { return countNodes(code) <= maxNodes; }

void beginCapture(cudaStream_t stream) {
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning a graph");
}

Graph endCapture(cudaStream_t stream) {
  cudaGraph_t ended = nullptr;
  check(cudaStreamEndCapture(stream, &ended), "ending a graph");
  return Graph(ended);
}

Graph tryEndCapture(cudaStream_t stream) noexcept {
  cudaGraph_t ended = nullptr;
  const cudaError_t status = cudaStreamEndCapture(stream, &ended);
  Graph graph(ended);
  if (status == cudaSuccess) return graph;
  static_cast<void>(cudaGetLastError());  // is not the next launch's
  return nullptr;
}

ExecutableGraph instantiate(const Graph& graph) {
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph.get(), 0), "making a graph ready");
  return ExecutableGraph(executable);
}

}  // namespace tilefold::cuda
