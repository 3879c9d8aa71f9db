// Convolutions over few channels, as a network's first is, and the gradient of their weights: cuDNN
// copies its plain image and has matrices of 27 rows that fill no tensor core, while what takes
// time is the output, written or read once.
#pragma once
#include <memory>

#include "product.hpp"

namespace tilefold::cuda {

// Taps count channels too.
constexpr std::int64_t mostTaps = 36;
inline std::int64_t tapsOf(const Convolution& c) { return c.kernelHeight * c.kernelWidth * c.inChannels; }

// Whether a kernel is one: convolutionForward or convolutionBackwardWeights of up to 4 channels,
// plain or nhwc, and 36 taps, with an output in nhwc of a multiple of 8 channels.
bool fitsFewChannels(KernelKind kind, const Convolution& c);

// Of fewChannelsAlgorithm; adds in float32 values as they are stored. Throws Failure, a sentence,
// for what does not fit.
std::unique_ptr<ConvolutionProduct> makeFewChannelsProduct(KernelKind kind, const Convolution& c, const Context& context);

// Its two kinds. Adds the bias and rectifies too.
std::unique_ptr<ConvolutionProduct> makeFewChannelsForward(const Convolution& c, const Context& context);
// Blocks' sums are added in double, in an order that shape and device decide.
std::unique_ptr<ConvolutionProduct> makeFewChannelsGradient(const Convolution& c, const Context& context);

}  // namespace tilefold::cuda
