// Gradients of weights of 3 x 3 convolutions, whose products warpgroups compute together (compute
// capability 9.0): a row of the source meets three rows of the gradient while it is at hand, which
// cuDNN's matrices of windows read nine times.
#pragma once
#include <memory>

#include "product.hpp"

namespace tilefold::cuda {

// Whether a kernel is one, and the GPU and the build have it: convolutionBackwardWeights for tensor
// cores, nhwc, of stride 1 and one group, with multiples of 64 channels.
bool fitsWarpgroups(KernelKind kind, const Convolution& c, const Context& context);
// Whether its rows are wide enough for what is multiplied at once: 32 pixels, of bf16 64.
bool fillsWarpgroups(const Convolution& c, const Context& context);
// Whether its channels alone give about half of the multiprocessors a block.
bool fillsUnshared(const Convolution& c, const Context& context);

// Of warpgroupAlgorithm, whose blocks share the rows and need workspace to add what they sum, or of
// wholeWarpgroupAlgorithm, whose blocks go through all rows. Sums in float32, in an order that
// shape and device decide, those of many rows to the nearest. Throws Failure, a sentence, for what
// does not fit.
std::unique_ptr<ConvolutionProduct> makeWarpgroupGradient(KernelKind kind, const Convolution& c, const Context& context);

}  // namespace tilefold::cuda
