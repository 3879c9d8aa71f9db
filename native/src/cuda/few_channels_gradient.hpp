// The gradient of the weights of a convolution over few channels, as a network's first is: cuDNN
// copies its plain image and has matrices of 27 rows that fill no tensor core, while all that must
// be read is the gradient of the output, once.
#pragma once
#include <memory>

#include "convolution_product.hpp"

namespace tilefold::cuda {

// Whether that of a kernel is one: convolutionBackwardWeights of up to 4 channels, plain or nhwc,
// and 36 taps, from an output in nhwc of a multiple of 8 channels.
bool fitsFewChannels(KernelKind kind, const Convolution& c);

// Of fewChannelsAlgorithm. A block adds products in float32, and blocks' sums are added in double,
// in an order that shape and device decide. Throws Failure, a sentence, for what does not fit.
std::unique_ptr<ConvolutionProduct> makeFewChannelsProduct(KernelKind kind, const Convolution& c, const Context& context);

}  // namespace tilefold::cuda
