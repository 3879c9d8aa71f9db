#include <algorithm>
#include <array>

#include "convolution.hpp"
#include "directions.hpp"
#include "few_channels.hpp"
#include "graph.hpp"
#include "product.hpp"
#include "rotated_weights.hpp"
#include "scratch.hpp"
#include "warpgroup_gradient.hpp"

namespace tilefold::cuda {
namespace {

template <class Direction>
std::vector<Algorithm> algorithmsOf(const Convolution& c, const Context& context) {
  using Number = typename Direction::Algorithm;
  const Libraries& libraries = *context.libraries;
  const ConvolutionDescriptors descriptors(c, context);
  // With and without tensor cores.
  std::array<cudnn::Performance<Number>, 2 * static_cast<std::size_t>(Number::count)> results{};
  int count = 0;
  libraries.check(Direction::heuristics(libraries, descriptors, static_cast<int>(results.size()), &count, results.data()),
                  "asking which algorithm is fastest");
  std::vector<Algorithm> found;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const cudnn::Performance<Number>& result = results[i];
    const std::int64_t algorithm = cudnnAlgorithms + static_cast<std::int64_t>(result.algorithm);
    if (result.status != cudnn::Status::success || result.determinism != cudnn::Determinism::deterministic) continue;
    if (Direction::atomic(result.algorithm)) continue;
    if (std::any_of(found.begin(), found.end(), [&](const Algorithm& known) { return known.code == algorithm; })) continue;
    std::size_t bytes = 0;
    if (Direction::workspace(libraries, descriptors, result.algorithm, &bytes) != cudnn::Status::success) continue;
    found.push_back({algorithm, Scratch(Direction::kind, c, context, descriptors.copy(), bytes).bytes});
  }
  return found;
}

// Engines that a plan may choose from, fastest first, and behind them the one that needs the least
// of those tried.
constexpr std::size_t mostEngines = 4, mostTried = 8;

std::vector<Algorithm> enginesOf(KernelKind kind, const Convolution& c, const Context& context) {
  const ConvolutionGraph graph(kind, c, context);
  std::vector<Algorithm> found;
  std::size_t tried = 0;
  for (const EngineConfiguration& configuration : graph.configurations()) {
    if (tried++ == mostTried) break;
    if (const std::optional<EnginePlan> plan = graph.plan(configuration))
      found.push_back({configuration.algorithm(), Scratch(kind, c, context, graph.copy(), plan->workspaceBytes()).bytes});
  }
  if (found.size() <= mostEngines) return found;
  const auto less = [](const Algorithm& one, const Algorithm& other) { return one.scratchBytes < other.scratchBytes; };
  const Algorithm least = *std::min_element(found.begin(), found.end(), less);
  found.resize(mostEngines);
  if (less(least, *std::min_element(found.begin(), found.end(), less))) found.push_back(least);
  return found;
}

// Of the forward convolution the one that is fastest as the heuristics go, and the first that sums
// products as they stand.
std::vector<Algorithm> rotatedAlgorithmsOf(const Convolution& c, const Context& context) {
  using Number = ForwardConvolution::Algorithm;
  if (!runsRotated(c)) return {};
  std::vector<Algorithm> found;
  bool hasDirect = false;
  for (const Algorithm& one : algorithmsOf<ForwardConvolution>(rotate180(c), context)) {
    const auto number = static_cast<Number>(one.code - cudnnAlgorithms);
    const auto& direct = ForwardConvolution::direct;
    const bool isDirect = std::find(direct.begin(), direct.end(), number) != direct.end();
    // By Fourier transforms they are slower than their place.
    if (number == Number::fft || number == Number::fftTiling || hasDirect || (!isDirect && !found.empty())) continue;
    hasDirect = isDirect;
    found.push_back({one.code - cudnnAlgorithms + rotatedAlgorithms, withRotatedWeights(c, context, one.scratchBytes)});
  }
  return found;
}

std::vector<Algorithm> cudnnAlgorithmsOf(KernelKind kind, const Convolution& c, const Context& context) {
  // Without tensor cores the older interface has more to choose from.
  if (usesTensorCores(context)) {
    std::vector<Algorithm> engines = enginesOf(kind, c, context);
    if (!engines.empty()) return engines;
  }
  std::vector<Algorithm> found = withDirection(kind, [&](auto direction) { return algorithmsOf<decltype(direction)>(c, context); });
  if (kind != KernelKind::convolutionBackwardData) return found;
  const std::vector<Algorithm> rotatedOnes = rotatedAlgorithmsOf(c, context);
  found.insert(found.end(), rotatedOnes.begin(), rotatedOnes.end());
  return found;
}

}  // namespace

std::size_t convolutionScratchBytes(KernelKind kind, const Convolution& c, const Context& context) {
  if (isRotated(kind, c))
    return withRotatedWeights(c, context, convolutionScratchBytes(KernelKind::convolutionForward, rotate180(c), context));
  const auto product = makeProduct(kind, c, context);
  return Scratch(kind, c, context, product->copy(), product->workspaceBytes(), product->writesFloat()).bytes;
}

std::vector<Algorithm> convolutionAlgorithms(KernelKind kind, const Convolution& c, const Context& context) {
  requireLayouts(c);
  std::vector<Algorithm> found = cudnnAlgorithmsOf(kind, c, context);
  const auto own = [&](std::int64_t algorithm) {
    Convolution ours = c;
    ours.algorithm = algorithm;
    return Algorithm{algorithm, convolutionScratchBytes(kind, ours, context)};
  };
  if (fitsFewChannels(kind, c)) found.insert(found.begin(), own(fewChannelsAlgorithm));
  if (fitsWarpgroups(kind, c, context)) {
    const Algorithm shared = own(warpgroupAlgorithm);
    found.insert(fillsWarpgroups(c, context) ? found.begin() : found.end(), shared);
    if (fillsUnshared(c, context) && shared.scratchBytes > 0) found.push_back(own(wholeWarpgroupAlgorithm));
  }
  return found;
}

}  // namespace tilefold::cuda
