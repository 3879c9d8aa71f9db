#include "scratch.hpp"

#include "engine_configuration.hpp"
#include "rotated_weights.hpp"

namespace tilefold::cuda {
namespace {

std::size_t copyBytes(const std::optional<PadBox>& copy, const Context& context) {
  if (!copy) return 0;
  return static_cast<std::size_t>(copy->batch * copy->channels * copy->paddedHeight * copy->paddedWidth * activationBytes(context.precision));
}

}  // namespace

std::int64_t weightCount(const Convolution& c) {
  return weightElements(c.weightLayout, c.outChannels, c.inChannels / c.groups, c.kernelHeight, c.kernelWidth, c.groups);
}

std::size_t weightBytes(const Convolution& c, const Context& context) {
  return static_cast<std::size_t>(weightCount(c) * activationBytes(context.precision));
}

Scratch::Scratch(KernelKind kind, const Convolution& c, const Context& context, const std::optional<PadBox>& copy, std::size_t workspace,
                 bool writesFloat)
    : gradientAt(inParts(copyBytes(copy, context))), workspaceBytes(workspace) {
  const bool widens = kind == KernelKind::convolutionBackwardWeights && !writesFloat;
  const std::size_t gradientBytes = widens && context.precision == Precision::bf16 ? weightBytes(c, context) : 0;
  workspaceAt = gradientAt + inParts(gradientBytes);
  const std::size_t end = workspaceAt + inParts(workspace);
  bytes = end == 0 ? 0 : end + partAlignment;
}

bool isRotated(KernelKind kind, const Convolution& c) {
  return kind == KernelKind::convolutionBackwardData && c.algorithm >= rotatedAlgorithms && !isEngine(c.algorithm) && runsRotated(c);
}

std::size_t withRotatedWeights(const Convolution& c, const Context& context, std::size_t forwardBytes) {
  return inParts(weightBytes(c, context)) + partAlignment + forwardBytes;
}

}  // namespace tilefold::cuda
