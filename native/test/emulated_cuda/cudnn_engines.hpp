// The engines of the emulated cuDNN, and the convolution that a graph is.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "convolution.hpp"
#include "graph_node.hpp"

namespace tilefold::emulated {

using Knobs = std::vector<std::array<std::int64_t, 2>>;

struct Engine {
  std::int64_t index;
  Knobs knobs;
  std::vector<NumericalNote> notes;
};

// The fastest first.
const std::vector<Engine>& engines();

struct Operation {
  Direction direction;
  Attribute source, weights, destination, convolution, alpha, beta;
};
std::optional<Operation> operationOf(DescriptorType type);

// The convolution of an operation, and of a graph, that has all its parts.
std::optional<Problem> problemOf(const Node& node);
std::optional<Problem> problemOfGraph(const Node* graph);

// Of an engine's configuration.
const Node* graphOf(const Node* configuration);
std::int64_t indexOf(const Node& engine);
Knobs knobsOf(const Node& configuration);
std::int64_t workspaceOf(const Problem& p, std::int64_t index, const Knobs& knobs);

// What heuristics name, as finished descriptors.
std::vector<std::shared_ptr<Node>> named(const Node& heuristics);

}  // namespace tilefold::emulated
