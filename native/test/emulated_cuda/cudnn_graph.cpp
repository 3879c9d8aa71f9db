// cuDNN 9's graph interface, of the functions in cudnn_graph_api.hpp: single convolutions by
// several engines, whose sums are the same but whose workspaces, notes and limits differ.
#include <algorithm>
#include <type_traits>

#include "cudnn_engines.hpp"
#include "runtime.hpp"

using namespace tilefold::emulated;

namespace {

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

}  // namespace

extern "C" {

Status cudnnBackendCreateDescriptor(DescriptorType type, GraphDescriptor* descriptor) {
  const auto node = makeNode(type);
  keep(node);
  *descriptor = node.get();
  return Status::success;
}

Status cudnnBackendDestroyDescriptor(GraphDescriptor descriptor) { return forget(descriptor) ? Status::success : badParameter; }

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
