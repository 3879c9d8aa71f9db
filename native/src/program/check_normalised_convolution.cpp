#include "../kernels/normalised_convolution.hpp"
#include "kernel_checks.hpp"

namespace tilefold {

// As both kernels that it stands for.
bool checkNormalisedConvolution(const Kernel& kernel) {
  if (kernel.kind != KernelKind::normalisedConvolutionForward && kernel.kind != KernelKind::normalisedConvolutionBackwardWeights)
    return false;
  const auto c = decode<NormalisedConvolution>(kernel);
  checkNormalisation(normalisationOf(c));
  checkConvolution(convolutionOf(kernel.kind, c, wholeTile(c)));
  if (layoutInfo(c.weightLayout).transformed())
    throw Failure(std::string(layoutInfo(c.weightLayout).name) + " holds no weights of 1 x 1 taps");
  return true;
}

}  // namespace tilefold
