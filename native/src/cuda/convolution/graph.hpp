// A convolution as an operation graph of cuDNN, whose engines pad each side for itself and count
// elements in 64 bits.
#pragma once
#include <optional>
#include <vector>

#include "../../kernels/kernel_fields.hpp"
#include "engine_configuration.hpp"
#include "graph_descriptor.hpp"
#include "pad.hpp"
#include "tensors.hpp"

namespace tilefold::cuda {

// An engine that is ready to compute a graph.
class EnginePlan {
 public:
  // `parts` are what the plan was made of, and live as long as it.
  EnginePlan(std::vector<GraphDescriptor> parts, GraphDescriptor plan);
  std::size_t workspaceBytes() const { return workspaceBytes_; }
  void launch(const Libraries& libraries, const ConvolutionTensors& tensors) const;

 private:
  std::vector<GraphDescriptor> parts_;
  GraphDescriptor plan_;
  std::size_t workspaceBytes_;
};

class ConvolutionGraph {
 public:
  // `kind` is one of the three convolutions.
  ConvolutionGraph(KernelKind kind, const Convolution& c, const Context& context);

  // The copy of the source that the graph reads, or writes, in its place.
  const std::optional<PadBox>& copy() const { return copy_; }

  // Those that cuDNN's heuristics name, fastest first, of engines that give the same bits at every
  // launch and sum products as they stand; all are remembered. Those that cuDNN would compile
  // first, in half a second each, only where there are no others. None where no engine computes
  // this.
  std::vector<EngineConfiguration> configurations() const;

  // Nothing where the engine does not compute this.
  std::optional<EnginePlan> plan(const EngineConfiguration& configuration) const;

 private:
  std::vector<EngineConfiguration> named(cudnn::HeuristicMode mode) const;

  Context context_;
  std::optional<PadBox> copy_;
  std::vector<GraphDescriptor> parts_;
  std::optional<GraphDescriptor> graph_;  // none where cuDNN refuses it
};

}  // namespace tilefold::cuda
