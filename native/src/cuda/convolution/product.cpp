#include "product.hpp"

#include <utility>

#include "directions.hpp"
#include "few_channels.hpp"
#include "graph.hpp"
#include "warpgroup_gradient.hpp"

namespace tilefold::cuda {
namespace {

// Channels of a network's input, which is plain whatever follows.
constexpr std::int64_t maxConverted = 4;

// The algorithm of cuDNN that the field names, and its workspace.
template <class Direction>
struct Choice {
  using Algorithm = typename Direction::Algorithm;

  Choice(const Convolution& c, const Libraries& libraries, const ConvolutionDescriptors& descriptors) {
    if (c.algorithm == 0) {
      for (const Algorithm direct : Direction::direct) {
        algorithm = direct;
        status = Direction::workspace(libraries, descriptors, algorithm, &workspaceBytes);
        if (status == cudnn::Status::success) break;
      }
    } else {
      algorithm = static_cast<Algorithm>(c.algorithm - cudnnAlgorithms);
      if (c.algorithm < cudnnAlgorithms || algorithm >= Algorithm::count || Direction::atomic(algorithm))
        throw Failure("the cuda device has no algorithm " + std::to_string(c.algorithm) + " for this direction of a convolution");
      status = Direction::workspace(libraries, descriptors, algorithm, &workspaceBytes);
    }
    libraries.check(status, "finding an algorithm for this convolution");
  }

  Algorithm algorithm{};
  cudnn::Status status{};
  std::size_t workspaceBytes = 0;
};

// By an algorithm of cuDNN's older interface.
template <class Direction>
class AlgorithmProduct : public ConvolutionProduct {
 public:
  AlgorithmProduct(const Convolution& c, const Context& context)
      : libraries_(*context.libraries), descriptors_(c, context), choice_(c, libraries_, descriptors_) {}
  const std::optional<PadBox>& copy() const override { return descriptors_.copy(); }
  std::size_t workspaceBytes() const override { return choice_.workspaceBytes; }
  void launch(const ConvolutionTensors& tensors) override {
    libraries_.check(Direction::launch(libraries_, descriptors_, choice_.algorithm, tensors), "a convolution");
  }

 private:
  const Libraries& libraries_;
  ConvolutionDescriptors descriptors_;
  Choice<Direction> choice_;
};

// By an engine of cuDNN's graphs.
class EngineProduct : public ConvolutionProduct {
 public:
  EngineProduct(KernelKind kind, const Convolution& c, const Context& context)
      : libraries_(*context.libraries), graph_(kind, c, context), plan_(planOf(c.algorithm)) {}
  const std::optional<PadBox>& copy() const override { return graph_.copy(); }
  std::size_t workspaceBytes() const override { return plan_.workspaceBytes(); }
  void launch(const ConvolutionTensors& tensors) override { plan_.launch(libraries_, tensors); }

 private:
  EnginePlan planOf(std::int64_t algorithm) const {
    std::optional<EngineConfiguration> configuration = remembered(algorithm);
    if (!configuration) {
      // All that it names is remembered.
      static_cast<void>(graph_.configurations());
      configuration = remembered(algorithm);
    }
    std::optional<EnginePlan> plan = configuration ? graph_.plan(*configuration) : std::nullopt;
    if (!plan) throw Failure(libraries_.versions() + " do not convolve this by " + engineName(algorithm) + ": measure a profile again");
    return std::move(*plan);
  }

  const Libraries& libraries_;
  ConvolutionGraph graph_;
  EnginePlan plan_;
};

}  // namespace

void requireLayouts(const Convolution& c) {
  const bool innermost = c.destinationLayout == Layout::nhwc;
  const bool source =
      c.sourceLayout == c.destinationLayout || (innermost && c.sourceLayout == Layout::plain && c.inChannels <= maxConverted);
  const bool destination = innermost || c.destinationLayout == Layout::plain;
  if (source && destination && c.weightLayout == (innermost ? Layout::ohwi : Layout::plain)) return;
  throw Failure(
      std::string("the cuda device convolves plain by plain weights to plain, or nhwc (plain up to 4 channels) by ohwi to nhwc, not ") +
      layoutInfo(c.sourceLayout).name + " by " + layoutInfo(c.weightLayout).name + " to " + layoutInfo(c.destinationLayout).name);
}

std::unique_ptr<ConvolutionProduct> makeProduct(KernelKind kind, const Convolution& c, const Context& context) {
  requireLayouts(c);
  if (c.algorithm == fewChannelsAlgorithm) return makeFewChannelsProduct(kind, c, context);
  if (c.algorithm == warpgroupAlgorithm || c.algorithm == wholeWarpgroupAlgorithm) return makeWarpgroupGradient(kind, c, context);
  if (isEngine(c.algorithm)) return std::make_unique<EngineProduct>(kind, c, context);
  return withDirection(kind, [&](auto direction) -> std::unique_ptr<ConvolutionProduct> {
    return std::make_unique<AlgorithmProduct<decltype(direction)>>(c, context);
  });
}

}  // namespace tilefold::cuda
