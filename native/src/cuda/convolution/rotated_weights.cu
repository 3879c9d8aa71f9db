#include "../kernels/divisor.cuh"
#include "../kernels/element_loop.cuh"
#include "rotated_weights.hpp"

namespace tilefold::cuda {
namespace {

// Of a padding before or behind, the one with which the rotated window ends where the other began;
// below 0 it is cut off.
std::int64_t rotatedPadding(std::int64_t kernel, std::int64_t dilation, std::int64_t padding) { return (kernel - 1) * dilation - padding; }

}  // namespace

Convolution rotate180(const Convolution& c) {
  Convolution t = c;
  std::swap(t.inChannels, t.outChannels);
  std::swap(t.inHeight, t.outHeight);
  std::swap(t.inWidth, t.outWidth);
  std::swap(t.sourceLayout, t.destinationLayout);
  t.padTop = rotatedPadding(c.kernelHeight, c.dilationHeight, c.padTop);
  t.padBottom = rotatedPadding(c.kernelHeight, c.dilationHeight, c.padBottom);
  t.padLeft = rotatedPadding(c.kernelWidth, c.dilationWidth, c.padLeft);
  t.padRight = rotatedPadding(c.kernelWidth, c.dilationWidth, c.padRight);
  t.algorithm = c.algorithm - rotatedAlgorithms + cudnnAlgorithms;
  t.slope = 1;
  return t;
}

bool runsRotated(const Convolution& c) { return c.strideHeight == 1 && c.strideWidth == 1 && c.sourceLayout == c.destinationLayout; }

template <class T>
void rotateWeights(const Context& context, const Convolution& c, const T* weights, T* rotatedWeights) {
  const std::int64_t in = c.inChannels / c.groups, out = c.outChannels / c.groups, taps = c.kernelHeight * c.kernelWidth;
  const bool outLast = c.weightLayout == Layout::ohwi;
  const Divisor byInner(outLast ? out : taps), byMiddle(outLast ? taps : out), byIn(in);
  forEach(context, "rotateWeights", c.outChannels * in * taps, [=] __device__(std::int64_t i) {
    const Division inner = byInner(i), middle = byMiddle(inner.quotient), group = byIn(middle.quotient);
    const std::int64_t k = outLast ? inner.remainder : middle.remainder, tap = taps - 1 - (outLast ? middle.remainder : inner.remainder);
    const std::int64_t row = group.quotient * out + k;
    rotatedWeights[i] = weights[outLast ? (row * taps + tap) * in + group.remainder : (row * in + group.remainder) * taps + tap];
  });
}

template void rotateWeights<float>(const Context&, const Convolution&, const float*, float*);
template void rotateWeights<Bfloat16>(const Context&, const Convolution&, const Bfloat16*, Bfloat16*);

}  // namespace tilefold::cuda
