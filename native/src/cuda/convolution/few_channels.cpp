#include "few_channels.hpp"

#include <algorithm>
#include <string>

namespace tilefold::cuda {
namespace {

constexpr std::int64_t mostChannels = 4, channelsAtOnce = 8;
// Extents and twice their sums are of 32 bits.
constexpr std::int64_t longestExtent = std::int64_t{1} << 26, mostOutChannels = std::int64_t{1} << 20;

}  // namespace

bool fitsFewChannels(KernelKind kind, const Convolution& c) {
  const bool isKind = kind == KernelKind::convolutionForward || kind == KernelKind::convolutionBackwardWeights;
  const bool isShort = std::max(c.inHeight + c.padTop + c.padBottom, c.inWidth + c.padLeft + c.padRight) <= longestExtent;
  const bool isSmall = c.inChannels <= mostChannels && std::max(c.kernelHeight, c.kernelWidth) <= mostTaps && tapsOf(c) <= mostTaps;
  const bool isInPacks = c.destinationLayout == Layout::nhwc && c.outChannels % channelsAtOnce == 0 && c.outChannels <= mostOutChannels;
  return isKind && c.groups == 1 && isSmall && isInPacks && isShort;
}

std::unique_ptr<ConvolutionProduct> makeFewChannelsProduct(KernelKind kind, const Convolution& c, const Context& context) {
  if (!fitsFewChannels(kind, c))
    throw Failure("algorithm " + std::to_string(fewChannelsAlgorithm) +
                  " of the cuda device is for convolutions of one group and gradients of their weights, up to " + std::to_string(mostTaps) +
                  " over at most " + std::to_string(mostChannels) + " channels, with an output in nhwc of a multiple of " +
                  std::to_string(channelsAtOnce) + " channels");
  return kind == KernelKind::convolutionForward ? makeFewChannelsForward(c, context) : makeFewChannelsGradient(c, context);
}

}  // namespace tilefold::cuda
