// A convolution that normalises what it reads, by both kernels that it stands for.
#include "../kernels/normalised_convolution.hpp"

#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// What a normalisation's launch reads, and where it writes.
template <class T>
std::vector<Operand> normalisationOperands(const std::vector<Operand>& operands, std::vector<T>& normalised) {
  return {operands[0], operands[1], operands[2], operands[3], {reinterpret_cast<std::byte*>(normalised.data()), 0}};
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileNormalisedConvolution(const Kernel& kernel) {
  if (kernel.kind != KernelKind::normalisedConvolutionForward && kernel.kind != KernelKind::normalisedConvolutionBackwardWeights)
    return nullptr;
  const auto c = decode<NormalisedConvolution>(kernel);
  const std::shared_ptr<CompiledKernel> normalisation = compileNormalisation<T>(normalisationOf(c));
  const std::shared_ptr<CompiledKernel> convolution = compileConvolution<T>(convolutionOf(kernel.kind, c, wholeTile(c)));
  const auto count = static_cast<std::size_t>(activationElements(c.layout, c.batch, c.channels, c.height, c.width));
  return compiled([=](const Arguments& a) {
    std::vector<T> normalised(count);
    std::vector<Operand> operands = normalisationOperands(a.operands, normalised);
    normalisation->launch(operands, a.step);
    operands = {operands[4], a.operands[4], a.operands[5], a.operands[6], a.operands[7]};
    convolution->launch(operands, a.step);
  });
}
TILEFOLD_COMPILES(compileNormalisedConvolution)

}  // namespace tilefold::reference
