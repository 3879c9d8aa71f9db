#include "convolution.hpp"

#include "correlation.hpp"
#include "few_channels.hpp"
#include "weight_gradient.hpp"

namespace tilefold::cpu {

bool fitsAmx(KernelKind kind, const Convolution& c, int threads) {
  return fitsAmxCorrelation(kind, c) || fitsAmxFewChannels(kind, c) || fitsAmxWeightGradient(kind, c, threads);
}

std::size_t amxScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  if (kind == KernelKind::convolutionBackwardWeights) return amxWeightGradientScratchBytes(c, threads);
  return fitsAmxFewChannels(kind, c) ? amxFewChannelsScratchBytes(c, threads) : amxCorrelationScratchBytes(kind, c, threads);
}

Launch compileAmx(KernelKind kind, const Convolution& c, int threads) {
  if (kind == KernelKind::convolutionBackwardWeights) return compileAmxWeightGradient(c, threads);
  return fitsAmxFewChannels(kind, c) ? compileAmxFewChannels(c, threads) : compileAmxCorrelation(kind, c, threads);
}

}  // namespace tilefold::cpu
