// cuDNN 9's graph interface, of the functions in cudnn_graph_api.hpp: single convolutions by
// several engines, whose sums are the same but whose workspaces, notes and limits differ.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <vector>

#include "convolution.hpp"
#include "runtime.hpp"

using namespace tilefold::emulated;

namespace {

using Bytes = std::vector<std::byte>;

struct Node {
  DescriptorType type{};
  bool isFinal = false;
  std::map<Attribute, Bytes> values;
  std::map<Attribute, std::vector<std::shared_ptr<Node>>> children;

  template <class Value>
  std::vector<Value> all(Attribute attribute) const {
    const auto found = values.find(attribute);
    std::vector<Value> read(found == values.end() ? 0 : found->second.size() / sizeof(Value));
    if (!read.empty()) std::memcpy(read.data(), found->second.data(), read.size() * sizeof(Value));
    return read;
  }
  template <class Value>
  Value one(Attribute attribute, Value otherwise = {}) const {
    const std::vector<Value> read = all<Value>(attribute);
    return read.size() == 1 ? read[0] : otherwise;
  }
  const Node* child(Attribute attribute) const {
    const auto found = children.find(attribute);
    return found == children.end() || found->second.empty() ? nullptr : found->second[0].get();
  }
  template <class Value>
  void put(Attribute attribute, const std::vector<Value>& written) {
    values[attribute].resize(written.size() * sizeof(Value));
    std::memcpy(values[attribute].data(), written.data(), written.size() * sizeof(Value));
  }
};

std::mutex mutex;
std::map<GraphDescriptor, std::shared_ptr<Node>>& nodes() {
  static std::map<GraphDescriptor, std::shared_ptr<Node>> all;
  return all;
}
std::shared_ptr<Node> nodeOf(GraphDescriptor descriptor) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = nodes().find(descriptor);
  return found == nodes().end() ? nullptr : found->second;
}

using Knobs = std::vector<std::array<std::int64_t, 2>>;

struct Engine {
  std::int64_t index;
  Knobs knobs;
  std::vector<NumericalNote> notes;
};

// The fastest first; two of them are not what exact kernels want, one is compiled first, and the
// last is slow.
const std::vector<Engine>& engines() {
  using N = NumericalNote;
  static const std::vector<Engine> all{{60, {{2, 1}, {14, 0}}, {N::tensorCore}}, {60, {{2, 4}, {14, 0}}, {N::tensorCore}},
                                       {61, {{2, 1}}, {N::tensorCore, N::nondeterministic}},
                                       {64, {}, {N::tensorCore}},               {62, {{3, 7}}, {N::tensorCore}},
                                       {63, {}, {N::tensorCore, N::winograd}},
                                       {1, {}, {}}};
  return all;
}

std::optional<Shape> shapeOf(const Node* tensor) {
  if (tensor == nullptr || !tensor->isFinal) return {};
  const auto n = tensor->all<std::int64_t>(Attribute::tensorDimensions), strides = tensor->all<std::int64_t>(Attribute::tensorStrides);
  if (n.size() != 4 || strides.size() != 4) return {};
  const std::vector<std::int64_t> planes{n[1] * n[2] * n[3], n[2] * n[3], n[3], 1}, last{n[1] * n[2] * n[3], 1, n[3] * n[1], n[1]};
  if (strides != planes && strides != last) return {};
  const auto in = [&](std::size_t i) { return static_cast<int>(n[i]); };
  return Shape{strides == planes ? TensorFormat::nchw : TensorFormat::nhwc, tensor->one<DataType>(Attribute::tensorDataType),
               in(0), in(1), in(2), in(3)};
}

struct Operation {
  Direction direction;
  Attribute source, weights, destination, convolution, alpha, beta;
};
std::optional<Operation> operationOf(DescriptorType type) {
  using A = Attribute;
  switch (type) {
    case DescriptorType::convolutionForward:
      return Operation{Direction::forward,    A::forwardSource, A::forwardWeights, A::forwardDestination,
                       A::forwardConvolution, A::forwardAlpha,  A::forwardBeta};
    case DescriptorType::convolutionBackwardData:
      return Operation{Direction::backwardData,    A::backwardDataSource, A::backwardDataWeights, A::backwardDataDestination,
                       A::backwardDataConvolution, A::backwardDataAlpha,  A::backwardDataBeta};
    case DescriptorType::convolutionBackwardFilter:
      return Operation{Direction::backwardFilter,    A::backwardFilterSource, A::backwardFilterWeights, A::backwardFilterDestination,
                       A::backwardFilterConvolution, A::backwardFilterAlpha,  A::backwardFilterBeta};
    default:
      return {};
  }
}

// The convolution of an operation that has all its parts.
std::optional<Problem> problemOf(const Node& node) {
  const std::optional<Operation> operation = operationOf(node.type);
  if (!operation) return {};
  const Node* window = node.child(operation->convolution);
  const auto source = shapeOf(node.child(operation->source)), weights = shapeOf(node.child(operation->weights)),
             destination = shapeOf(node.child(operation->destination));
  if (window == nullptr || !window->isFinal || !source || !weights || !destination) return {};
  if (node.one<float>(operation->alpha) != 1 || node.one<float>(operation->beta, 1) != 0) return {};
  Problem p{*source, *weights, *destination, {}, operation->direction};
  const auto pair = [&](Attribute attribute) {
    const auto values = window->all<std::int64_t>(attribute);
    return std::array{static_cast<int>(values.at(0)), static_cast<int>(values.at(1))};
  };
  p.window = {pair(Attribute::convolutionPrePaddings), pair(Attribute::convolutionPostPaddings), pair(Attribute::convolutionStrides),
              pair(Attribute::convolutionDilations),   p.source.c / p.weights.c,                 MathType::tensorCores};
  return p;
}

std::optional<Problem> problemOfGraph(const Node* graph) {
  const Node* operation = graph == nullptr || !graph->isFinal ? nullptr : graph->child(Attribute::graphOperations);
  return operation == nullptr ? std::nullopt : problemOf(*operation);
}

const Node* graphOf(const Node* configuration) {
  const Node* engine = configuration == nullptr ? nullptr : configuration->child(Attribute::configurationEngine);
  return engine == nullptr ? nullptr : engine->child(Attribute::engineGraph);
}

std::int64_t indexOf(const Node& engine) { return engine.one<std::int64_t>(Attribute::engineIndex, -1); }

Knobs knobsOf(const Node& configuration) {
  Knobs knobs;
  const auto found = configuration.children.find(Attribute::configurationKnobChoices);
  if (found == configuration.children.end()) return knobs;
  for (const auto& knob : found->second)
    knobs.push_back({knob->one<int>(Attribute::knobChoiceType), knob->one<std::int64_t>(Attribute::knobChoiceValue)});
  return knobs;
}

// Different for engines and knobs, and none a multiple of a page.
std::int64_t workspaceOf(const Problem& p, std::int64_t index, const Knobs& knobs) {
  return index == 60 ? static_cast<std::int64_t>(elements(p.weights)) * 2 * knobs[0][1] + 36 : 0;
}

Status finalise(Node& node) {
  using T = DescriptorType;
  switch (node.type) {
    case T::tensor:
      for (const std::int64_t extent : node.all<std::int64_t>(Attribute::tensorDimensions))
        if (extent <= 0) return refuse(badParameter, "a tensor without elements");
      if (node.one<std::int64_t>(Attribute::tensorAlignment) != 16) return refuse(badParameter, "an alignment");
      return Status::success;
    case T::convolution:
      for (const Attribute padding : {Attribute::convolutionPrePaddings, Attribute::convolutionPostPaddings})
        for (const std::int64_t one : node.all<std::int64_t>(padding))
          if (one < 0) return refuse(badParameter, "a padding below zero");
      return node.one<std::int64_t>(Attribute::convolutionSpatialDimensions) == 2 ? Status::success : refuse(badParameter, "dimensions");
    case T::convolutionForward:
    case T::convolutionBackwardData:
    case T::convolutionBackwardFilter: {
      const std::optional<Problem> p = problemOf(node);
      return p ? check(*p) : refuse(badParameter, "an operation that lacks a part");
    }
    case T::operationGraph: {
      const Node* operation = node.child(Attribute::graphOperations);
      return operation != nullptr && operation->isFinal ? Status::success : refuse(badParameter, "a graph without operations");
    }
    case T::engineHeuristics:
      return problemOfGraph(node.child(Attribute::heuristicsGraph)) ? Status::success : refuse(badParameter, "heuristics without a graph");
    case T::engine: {
      const auto known = [&](const Engine& one) { return one.index == indexOf(node); };
      return std::any_of(engines().begin(), engines().end(), known) && problemOfGraph(node.child(Attribute::engineGraph))
                 ? Status::success
                 : refuse(notSupported, "an engine that there is not");
    }
    case T::engineConfiguration: {
      const Node* engine = node.child(Attribute::configurationEngine);
      const auto known = [&](const Engine& one) { return one.index == indexOf(*engine) && one.knobs == knobsOf(node); };
      return engine != nullptr && engine->isFinal && std::any_of(engines().begin(), engines().end(), known)
                 ? Status::success
                 : refuse(notSupported, "knobs that the engine does not have");
    }
    case T::executionPlan: {
      const Node* configuration = node.child(Attribute::planConfiguration);
      const std::optional<Problem> p = problemOfGraph(graphOf(configuration));
      if (!p || !configuration->isFinal) return refuse(badParameter, "a plan without a configuration");
      const std::int64_t index = indexOf(*configuration->child(Attribute::configurationEngine));
      // As a kernel whose tile does not fit.
      if (index == 62 && p->destination.w % 2 == 1) return refuse(notSupported, "an odd width");
      node.put(Attribute::planWorkspaceBytes, std::vector{workspaceOf(*p, index, knobsOf(*configuration))});
      return Status::success;
    }
    default:
      return Status::success;
  }
}

std::shared_ptr<Node> made(DescriptorType type) {
  auto node = std::make_shared<Node>();
  node->type = type;
  return node;
}

// What heuristics name, as finished descriptors.
std::vector<std::shared_ptr<Node>> named(const Node& heuristics) {
  std::vector<std::shared_ptr<Node>> found;
  const bool fallback = heuristics.one<HeuristicMode>(Attribute::heuristicsMode) == HeuristicMode::fallback;
  for (const Engine& one : engines()) {
    if (fallback && one.index != 1) continue;
    const auto engine = made(DescriptorType::engine), configuration = made(DescriptorType::engineConfiguration);
    engine->children[Attribute::engineGraph] = heuristics.children.at(Attribute::heuristicsGraph);
    engine->put(Attribute::engineIndex, std::vector{one.index});
    engine->put(Attribute::engineNumericalNotes, one.notes);
    if (one.index == 64) engine->put(Attribute::engineBehaviourNotes, std::vector{BehaviourNote::runtimeCompilation});
    configuration->children[Attribute::configurationEngine] = {engine};
    for (const auto& [kind, choice] : one.knobs) {
      const auto knob = made(DescriptorType::knobChoice);
      knob->put(Attribute::knobChoiceType, std::vector{static_cast<int>(kind)});
      knob->put(Attribute::knobChoiceValue, std::vector{choice});
      knob->isFinal = true;
      configuration->children[Attribute::configurationKnobChoices].push_back(knob);
    }
    engine->isFinal = configuration->isFinal = true;
    found.push_back(configuration);
  }
  return found;
}

}  // namespace

extern "C" {

Status cudnnBackendCreateDescriptor(DescriptorType type, GraphDescriptor* descriptor) {
  const auto node = made(type);
  *descriptor = node.get();
  const std::lock_guard<std::mutex> lock(mutex);
  nodes().emplace(*descriptor, node);
  return Status::success;
}

Status cudnnBackendDestroyDescriptor(GraphDescriptor descriptor) {
  const std::lock_guard<std::mutex> lock(mutex);
  return nodes().erase(descriptor) == 1 ? Status::success : badParameter;
}

Status cudnnBackendFinalize(GraphDescriptor descriptor) {
  const auto node = nodeOf(descriptor);
  if (node == nullptr || node->isFinal) return refuse(badParameter, "no descriptor, or one that is finalised");
  const Status status = finalise(*node);
  node->isFinal = status == Status::success;
  return status;
}

Status cudnnBackendSetAttribute(GraphDescriptor descriptor, Attribute attribute, AttributeType type, std::int64_t count,
                                const void* values) {
  const auto node = nodeOf(descriptor);
  if (node == nullptr || node->isFinal || count < 0) return refuse(badParameter, "no descriptor, or one that is finalised");
  if (type == AttributeType::descriptor) {
    auto& children = node->children[attribute];
    children.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      children.push_back(nodeOf(static_cast<const GraphDescriptor*>(values)[i]));
      if (children.back() == nullptr || !children.back()->isFinal) return refuse(badParameter, "a part that is not finalised");
    }
    return Status::success;
  }
  const bool isWide = type == AttributeType::int64 || type == AttributeType::pointer || type == AttributeType::handle;
  const std::size_t bytes = static_cast<std::size_t>(count) * (isWide ? 8 : 4);
  const auto* first = static_cast<const std::byte*>(values);
  node->values[attribute] = Bytes(first, first + bytes);
  return Status::success;
}

Status cudnnBackendGetAttribute(GraphDescriptor descriptor, Attribute attribute, AttributeType type, std::int64_t requested,
                                std::int64_t* returned, void* values) {
  const auto node = nodeOf(descriptor);
  if (node == nullptr || !node->isFinal) return refuse(badParameter, "no descriptor, or one that is not finalised");
  if (type == AttributeType::descriptor) {
    const auto results = attribute == Attribute::heuristicsResults ? named(*node) : node->children[attribute];
    *returned = static_cast<std::int64_t>(results.size());
    for (std::size_t i = 0; i < results.size() && i < static_cast<std::size_t>(requested); ++i) {
      const auto into = nodeOf(static_cast<const GraphDescriptor*>(values)[i]);
      if (into == nullptr || into->type != results[i]->type) return refuse(badParameter, "a descriptor of another type");
      *into = *results[i];
    }
    return Status::success;
  }
  const bool isWide = type == AttributeType::int64;
  const Bytes& found = node->values[attribute];
  *returned = static_cast<std::int64_t>(found.size() / (isWide ? 8 : 4));
  std::copy_n(found.begin(), std::min(found.size(), static_cast<std::size_t>(requested) * (isWide ? 8 : 4)),
              static_cast<std::byte*>(values));
  return Status::success;
}

Status cudnnBackendExecute(Handle handle, GraphDescriptor planDescriptor, GraphDescriptor packDescriptor) {
  const auto plan = nodeOf(planDescriptor), pack = nodeOf(packDescriptor);
  if (plan == nullptr || !plan->isFinal || pack == nullptr || !pack->isFinal) return refuse(badParameter, "no plan, or no tensors");
  const Node* configuration = plan->child(Attribute::planConfiguration);
  const Problem p = *problemOfGraph(graphOf(configuration));
  const auto ids = pack->all<std::int64_t>(Attribute::packUniqueIds);
  const auto pointers = pack->all<void*>(Attribute::packPointers);
  const Node& operation = *graphOf(configuration)->child(Attribute::graphOperations);
  const Operation parts = *operationOf(operation.type);
  const auto address = [&](Attribute part) -> void* {
    const auto id = operation.child(part)->one<std::int64_t>(Attribute::tensorUniqueId);
    const auto at = std::find(ids.begin(), ids.end(), id);
    return at == ids.end() ? nullptr : pointers.at(static_cast<std::size_t>(at - ids.begin()));
  };
  void *const source = address(parts.source), *const weights = address(parts.weights), *const destination = address(parts.destination);
  void* const workspace = pack->one<void*>(Attribute::packWorkspace);
  const auto needed = static_cast<std::size_t>(plan->one<std::int64_t>(Attribute::planWorkspaceBytes));
  if (misplaced(source) || misplaced(weights) || misplaced(destination)) return refuse(badParameter, "a tensor at no multiple of 16 bytes");
  if (needed > 0 && misplaced(workspace)) return refuse(badParameter, "a workspace at no multiple of 16 bytes");
  const std::int64_t index = indexOf(*configuration->child(Attribute::configurationEngine));
  const std::pair prepared(p.direction, 1000 + static_cast<int>(index));
  cudaStreamCaptureStatus capture{};
  cudaStreamIsCapturing(handle->stream, &capture);
  if (capture != cudaStreamCaptureStatusNone && handle->prepared.count(prepared) == 0)
    return refuse(notInitialised, "the first call of an engine was captured");
  handle->prepared.insert(prepared);
  void* const result = p.direction == Direction::forward ? destination : p.direction == Direction::backwardData ? source : weights;
  return enqueueProduct(handle, p, workspace, needed, 1, 0, {source, weights, destination, result});
}

}  // extern "C"

#define TILEFOLD_SAME(name, result, arguments) static_assert(std::is_same_v<decltype(&name), result(*) arguments>);
TILEFOLD_CUDNN_GRAPH_FUNCTIONS(TILEFOLD_SAME)
#undef TILEFOLD_SAME
