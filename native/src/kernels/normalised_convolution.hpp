// The normalisation and the convolution that one kernel stands for which normalises what it reads.
#pragma once
#include "kernel_fields.hpp"

namespace tilefold {

inline Kernel normalisationOf(const NormalisedConvolution& c) {
  const auto n = [](auto value) { return static_cast<double>(value); };
  return {KernelKind::normaliseForward,
          {n(c.batch), n(c.channels), n(c.height), n(c.width), n(c.layout), n(c.groups), n(c.perImage), c.epsilon, c.slope}};
}

// Of `tile` in place of the kernel's own: some of its images, channels and pixels.
struct ConvolvedTile {
  std::int64_t batch, channels, height, width;
};
inline ConvolvedTile wholeTile(const NormalisedConvolution& c) { return {c.batch, c.channels, c.height, c.width}; }

inline KernelKind convolutionKind(KernelKind kind) {
  return kind == KernelKind::normalisedConvolutionForward ? KernelKind::convolutionForward : KernelKind::convolutionBackwardWeights;
}

inline Kernel convolutionOf(KernelKind kind, const NormalisedConvolution& c, const ConvolvedTile& tile) {
  const auto n = [](auto value) { return static_cast<double>(value); };
  const double height = n(tile.height), width = n(tile.width), layout = n(c.layout);
  Kernel kernel{convolutionKind(kind),
                {n(tile.batch), n(tile.channels), height, width, height, width, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, n(c.outChannels), 1, layout,
                 layout, n(c.weightLayout), 0}};
  if (kind == KernelKind::normalisedConvolutionForward) kernel.fields.push_back(c.outSlope);
  return kernel;
}

}  // namespace tilefold
