// Sections as graphs: what is queued on a stream is captured, and replayed without the processor.
#pragma once
#include "../../program/program.hpp"
#include "stream.hpp"

namespace tilefold::cuda {

// A section as it ran before: whether to its end, the graph of its second run, and whether it can
// be none.
struct RecordedSection {
  bool hasRun = false, refused = false;
  bool isAgreed = false;  // on whether all ranks replay it
  ExecutableGraph executable;
};

// Whether a section has few enough launches: a graph takes memory of the device for each of them.
bool fitsGraph(const Code& code);

void beginCapture(cudaStream_t stream);
// What was queued since. Throws Failure where that cannot be a graph.
Graph endCapture(cudaStream_t stream);
// The same, or null.
Graph tryEndCapture(cudaStream_t stream) noexcept;
ExecutableGraph instantiate(const Graph& graph);

// What `body` queues on the stream, or null where it cannot be captured.
template <class Body>
ExecutableGraph capture(cudaStream_t stream, const Body& body) {
  beginCapture(stream);
  bool whole = true;
  try {
    body();
  } catch (const Failure&) {
    whole = false;
  }
  const Graph graph = tryEndCapture(stream);
  return whole && graph ? instantiate(graph) : ExecutableGraph();
}

}  // namespace tilefold::cuda
