// Where an element lies in each layout: offsets are sums of one term an axis, so loops need no case
// for each layout.
#pragma once
#include <algorithm>

#include "../../kernels/kernel_fields.hpp"
#include "../processor/processor.hpp"

namespace tilefold::cpu {

// An axis that is cut into blocks, and those perhaps into pairs of neighbours.
struct BlockedAxis {
  std::int64_t block = 1, outer = 0, inner = 0, pair = 1;
  std::int64_t operator()(std::int64_t i) const { return i / block * outer + i % block / pair * inner + i % pair; }
};

// Weights of one convolution: offset(g, o, i, tap) = group(g) + out(o) + in(i) + tap * tapStride, o
// and i counted within a group.
struct WeightStrides {
  std::int64_t elements = 0, tapStride = 0;
  BlockedAxis group, out, in;
};
WeightStrides weightStrides(Layout layout, std::int64_t outChannels, std::int64_t inChannels, std::int64_t groups, std::int64_t taps);
inline WeightStrides weightStrides(const Convolution& c) {
  return weightStrides(c.weightLayout, c.outChannels, c.inChannels, c.groups, c.kernelHeight * c.kernelWidth);
}

// Activations in blocks of as many channels as lie together on this machine.
inline Layout blockedLayout() { return machineBlock() == 16 ? Layout::nChw16c : Layout::nChw8c; }

// Whether a convolution is of one group, from blocks of 16 channels to blocks of 16.
inline bool isInBlocksOf16(const Convolution& c) {
  return c.groups == 1 && c.sourceLayout == Layout::nChw16c && c.destinationLayout == Layout::nChw16c;
}

// An activation [batch, channels, height, width] seen in blocks of channels. A plain one is seen so
// too, its lanes a plane apart.
struct ActivationStrides {
  std::int64_t channels, block, batchStride, blockStride, laneStride, rowStride, pixelStride;
  // Whether a pixel's lanes are stored as one block, padding included. (laneStride is 1 in a plain
  // plane of one pixel, too.)
  bool blocked() const { return pixelStride == block; }
  std::int64_t blocks() const { return (channels + block - 1) / block; }
  // Channels of this block, without padding.
  std::int64_t lanes(std::int64_t index) const { return std::min(block, channels - index * block); }
};
ActivationStrides activationStrides(Layout layout, std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t block);

}  // namespace tilefold::cpu
