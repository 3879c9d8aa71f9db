#include "graph.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "source.hpp"

namespace tilefold::cuda {
namespace {

using cudnn::Attribute;
using cudnn::DescriptorType;

constexpr std::int64_t sourceId = 1, weightsId = 2, destinationId = 3;
// More than engines have, and more than they note.
constexpr std::size_t mostKnobs = 64, mostNotes = 32;

// Windows that leave rows at the end unread, a stride or more, or that begin inside the tensor,
// read a copy that ends where the last window does.
SourceAxis graphAxis(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                     std::int64_t before) {
  const std::int64_t needed = (out - 1) * stride + (kernel - 1) * dilation + 1, after = needed - in - before;
  if (before >= 0 && after > -stride) return {in, before, std::max<std::int64_t>(after, 0), 0};
  return {needed, 0, 0, before};
}

void requireSmall(const PadBox& copy) {
  const std::int64_t pixels = std::max(checkedMultiply(copy.height, copy.width), checkedMultiply(copy.paddedHeight, copy.paddedWidth));
  const std::int64_t elements = checkedMultiply(checkedMultiply(copy.batch, copy.channels), pixels);
  if (elements > std::numeric_limits<std::int32_t>::max())
    throw Failure("a convolution's source is copied where it has fewer than 2^31 elements, not " + std::to_string(elements) +
                  ": tile this convolution");
}

// In the order n, c, h, w.
GraphDescriptor tensor(const Context& context, std::int64_t id, bool channelsLast, const std::array<std::int64_t, 4>& n) {
  const std::int64_t image = n[1] * n[2] * n[3];
  const std::vector<std::int64_t> strides =
      channelsLast ? std::vector<std::int64_t>{image, 1, n[3] * n[1], n[1]} : std::vector<std::int64_t>{image, n[2] * n[3], n[3], 1};
  GraphDescriptor described(*context.libraries, DescriptorType::tensor);
  described.set(Attribute::tensorUniqueId, id)
      .set(Attribute::tensorDataType, storedType(context))
      .set(Attribute::tensorDimensions, std::vector<std::int64_t>(n.begin(), n.end()))
      .set(Attribute::tensorStrides, strides)
      .set(Attribute::tensorAlignment, tensorAlignment)
      .finalise();
  return described;
}

// The attributes of one direction.
struct Direction {
  DescriptorType operation;
  Attribute source, weights, destination, convolution, alpha, beta;
};

Direction directionOf(KernelKind kind) {
  using A = Attribute;
  switch (kind) {
    case KernelKind::convolutionForward:
      return {DescriptorType::convolutionForward, A::forwardSource, A::forwardWeights, A::forwardDestination,
              A::forwardConvolution,              A::forwardAlpha,  A::forwardBeta};
    case KernelKind::convolutionBackwardData:
      return {DescriptorType::convolutionBackwardData, A::backwardDataSource, A::backwardDataWeights, A::backwardDataDestination,
              A::backwardDataConvolution,              A::backwardDataAlpha,  A::backwardDataBeta};
    case KernelKind::convolutionBackwardWeights:
      return {DescriptorType::convolutionBackwardFilter, A::backwardFilterSource, A::backwardFilterWeights, A::backwardFilterDestination,
              A::backwardFilterConvolution,              A::backwardFilterAlpha,  A::backwardFilterBeta};
    default:
      throw Failure(std::string(kernelInfo(kind).name) + " is no convolution");
  }
}

template <class Note>
bool has(const std::vector<Note>& notes, Note note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

// Whether sums are those of products as they stand, in the same order at every launch, of values as
// precise as is asked for.
bool admits(const std::vector<cudnn::NumericalNote>& notes, const Context& context) {
  using N = cudnn::NumericalNote;
  for (const N note : {N::nondeterministic, N::reducedPrecisionReduction, N::fft, N::winograd, N::winogradTile4x4, N::winogradTile6x6,
                       N::winogradTile13x13})
    if (has(notes, note)) return false;
  return usesTensorCores(context) || (!has(notes, N::tensorCore) && !has(notes, N::downConvertInputs));
}

}  // namespace

EnginePlan::EnginePlan(std::vector<GraphDescriptor> parts, GraphDescriptor plan)
    : parts_(std::move(parts)),
      plan_(std::move(plan)),
      workspaceBytes_(static_cast<std::size_t>(plan_.integer(Attribute::planWorkspaceBytes))) {}

void EnginePlan::launch(const Libraries& libraries, const ConvolutionTensors& tensors) const {
  GraphDescriptor pack(libraries, DescriptorType::variantPack);
  pack.set(Attribute::packUniqueIds, std::vector<std::int64_t>{sourceId, weightsId, destinationId})
      .set(Attribute::packPointers, std::vector<void*>{tensors.source, tensors.weights, tensors.destination})
      .set(Attribute::packWorkspace, tensors.workspace)
      .finalise();
  libraries.check(libraries.dnn().cudnnBackendExecute(libraries.dnnHandle(), plan_.get(), pack.get()), "a convolution");
}

ConvolutionGraph::ConvolutionGraph(KernelKind kind, const Convolution& c, const Context& context) : context_(context) {
  const auto [rows, columns, copy] = sourceOf(c, graphAxis);
  copy_ = copy;
  if (copy_) requireSmall(*copy_);

  const Libraries& libraries = *context.libraries;
  GraphDescriptor window(libraries, DescriptorType::convolution);
  window.set(Attribute::convolutionSpatialDimensions, std::int64_t{2})
      .set(Attribute::convolutionComputeType, cudnn::DataType::float32)
      .set(Attribute::convolutionMode, cudnn::ConvolutionMode::crossCorrelation)
      .set(Attribute::convolutionDilations, std::vector{c.dilationHeight, c.dilationWidth})
      .set(Attribute::convolutionStrides, std::vector{c.strideHeight, c.strideWidth})
      .set(Attribute::convolutionPrePaddings, std::vector{rows.before, columns.before})
      .set(Attribute::convolutionPostPaddings, std::vector{rows.after, columns.after})
      .finalise();
  const bool last = c.destinationLayout == Layout::nhwc;
  parts_.push_back(tensor(context, sourceId, last, {c.batch, c.inChannels, rows.extent, columns.extent}));
  parts_.push_back(tensor(context, weightsId, last, {c.outChannels, c.inChannels / c.groups, c.kernelHeight, c.kernelWidth}));
  parts_.push_back(tensor(context, destinationId, last, {c.batch, c.outChannels, c.outHeight, c.outWidth}));
  parts_.push_back(std::move(window));

  const Direction direction = directionOf(kind);
  std::vector<GraphDescriptor> operations;
  operations.emplace_back(libraries, direction.operation)
      .set(direction.source, parts_[0])
      .set(direction.weights, parts_[1])
      .set(direction.destination, parts_[2])
      .set(direction.convolution, parts_[3])
      .set(direction.alpha, 1.0F)
      .set(direction.beta, 0.0F);
  if (!operations[0].tryFinalise()) return;
  GraphDescriptor graph(libraries, DescriptorType::operationGraph);
  graph.set(Attribute::graphHandle, libraries.dnnHandle()).set(Attribute::graphOperations, operations);
  parts_.push_back(std::move(operations[0]));
  if (graph.tryFinalise()) graph_ = std::move(graph);
}

std::vector<EngineConfiguration> ConvolutionGraph::configurations() const {
  const std::vector<EngineConfiguration> fast = named(cudnn::HeuristicMode::a);
  return fast.empty() ? named(cudnn::HeuristicMode::fallback) : fast;
}

std::vector<EngineConfiguration> ConvolutionGraph::named(cudnn::HeuristicMode mode) const {
  if (!graph_) return {};
  GraphDescriptor heuristics(*context_.libraries, DescriptorType::engineHeuristics);
  heuristics.set(Attribute::heuristicsGraph, *graph_).set(Attribute::heuristicsMode, mode);
  if (!heuristics.tryFinalise()) return {};
  std::vector<EngineConfiguration> found, slow;
  const std::size_t count = heuristics.count(Attribute::heuristicsResults);
  for (const GraphDescriptor& result : heuristics.children(Attribute::heuristicsResults, DescriptorType::engineConfiguration, count)) {
    const GraphDescriptor engine = std::move(result.children(Attribute::configurationEngine, DescriptorType::engine, 1).at(0));
    if (!admits(engine.get<cudnn::NumericalNote>(Attribute::engineNumericalNotes, mostNotes), context_)) continue;
    EngineConfiguration configuration{engine.integer(Attribute::engineIndex), {}};
    for (const GraphDescriptor& knob : result.children(Attribute::configurationKnobChoices, DescriptorType::knobChoice, mostKnobs))
      configuration.knobs.emplace_back(knob.knobType(), knob.integer(Attribute::knobChoiceValue));
    remember(configuration);
    const auto notes = engine.get<cudnn::BehaviourNote>(Attribute::engineBehaviourNotes, mostNotes);
    (has(notes, cudnn::BehaviourNote::runtimeCompilation) ? slow : found).push_back(std::move(configuration));
  }
  return found.empty() ? slow : found;
}

std::optional<EnginePlan> ConvolutionGraph::plan(const EngineConfiguration& configuration) const {
  if (!graph_) return {};
  const Libraries& libraries = *context_.libraries;
  GraphDescriptor engine(libraries, DescriptorType::engine);
  engine.set(Attribute::engineGraph, *graph_).set(Attribute::engineIndex, configuration.engine);
  if (!engine.tryFinalise()) return {};
  std::vector<GraphDescriptor> knobs;
  for (const auto& [kind, choice] : configuration.knobs)
    knobs.emplace_back(libraries, DescriptorType::knobChoice).setKnobType(kind).set(Attribute::knobChoiceValue, choice).finalise();
  GraphDescriptor chosen(libraries, DescriptorType::engineConfiguration);
  chosen.set(Attribute::configurationEngine, engine);
  if (!knobs.empty()) chosen.set(Attribute::configurationKnobChoices, knobs);
  if (!chosen.tryFinalise()) return {};
  GraphDescriptor plan(libraries, DescriptorType::executionPlan);
  plan.set(Attribute::planHandle, libraries.dnnHandle()).set(Attribute::planConfiguration, chosen);
  if (!plan.tryFinalise()) return {};
  std::vector<GraphDescriptor> parts = std::move(knobs);
  parts.push_back(std::move(engine));
  parts.push_back(std::move(chosen));
  return EnginePlan(std::move(parts), std::move(plan));
}

}  // namespace tilefold::cuda
