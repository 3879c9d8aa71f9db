#include "cudnn_engines.hpp"

namespace tilefold::emulated {
namespace {

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

}  // namespace

// The fastest first; two of them are not what exact kernels want, one is compiled first, and the
// last is slow.
const std::vector<Engine>& engines() {
  using N = NumericalNote;
  static const std::vector<Engine> all{{60, {{2, 2}, {14, 0}}, {N::tensorCore}},
                                       {60, {{2, 4}, {14, 0}}, {N::tensorCore}},
                                       {61, {{2, 1}}, {N::tensorCore, N::nondeterministic}},
                                       {64, {}, {N::tensorCore}},
                                       {62, {{3, 7}}, {N::tensorCore}},
                                       {63, {}, {N::tensorCore, N::winograd}},
                                       {60, {{2, 8}, {14, 0}}, {N::tensorCore}},
                                       {60, {{2, 3}, {14, 0}}, {N::tensorCore}},
                                       {1, {}, {}}};
  return all;
}

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

// What heuristics name, as finished descriptors.
std::vector<std::shared_ptr<Node>> named(const Node& heuristics) {
  std::vector<std::shared_ptr<Node>> found;
  const bool fallback = heuristics.one<HeuristicMode>(Attribute::heuristicsMode) == HeuristicMode::fallback;
  for (const Engine& one : engines()) {
    if (fallback && one.index != 1) continue;
    const auto engine = makeNode(DescriptorType::engine), configuration = makeNode(DescriptorType::engineConfiguration);
    engine->children[Attribute::engineGraph] = heuristics.children.at(Attribute::heuristicsGraph);
    engine->put(Attribute::engineIndex, std::vector{one.index});
    engine->put(Attribute::engineNumericalNotes, one.notes);
    if (one.index == 64) engine->put(Attribute::engineBehaviourNotes, std::vector{BehaviourNote::runtimeCompilation});
    configuration->children[Attribute::configurationEngine] = {engine};
    for (const auto& [kind, choice] : one.knobs) {
      const auto knob = makeNode(DescriptorType::knobChoice);
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

}  // namespace tilefold::emulated
