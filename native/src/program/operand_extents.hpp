// Bytes of single operands, from which operand.cpp puts together those of each kernel.
#pragma once
#include "../kernels/expression.hpp"
#include "../kernels/kernel_fields.hpp"
#include "operand.hpp"

namespace tilefold {

// Reached elements of rows of `row` contiguous elements at the given strides.
inline std::int64_t strided(const StridedTile& t) {
  const std::int64_t planes = checkedAdd(checkedMultiply(t.batch - 1, t.strideBatch), checkedMultiply(t.channels - 1, t.strideChannel));
  return checkedAdd(checkedAdd(planes, checkedMultiply(t.height - 1, t.strideHeight)), t.width);
}

inline std::int64_t reach(const CopyBox& box, const std::array<std::int64_t, 3>& strides) {
  std::int64_t elements = box.n[3];
  for (std::size_t i = 0; i < 3; ++i) elements = checkedAdd(elements, checkedMultiply(box.n[i] - 1, strides[i]));
  return elements;
}

// Operands by their elements; throws Failure for one that is larger than the largest space.
class Extents {
 public:
  Extents(Precision precision, std::int64_t largest)
      : activation_(activationBytes(precision)), parameter_(parameterBytes(precision)), largest_(largest) {}

  // Of activations, and of the weights that products read.
  OperandExtent elements(std::int64_t count) const { return sized(count, activation_); }
  OperandExtent parameters(std::int64_t count) const { return sized(count, parameter_); }
  OperandExtent activation(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width) const {
    return elements(activationElements(layout, batch, channels, height, width));
  }
  OperandExtent tile(const Tile& t) const { return activation(t.layout, t.batch, t.channels, t.height, t.width); }
  OperandExtent resampledSource(const Resampled& r) const { return activation(r.layout, r.batch, r.channels, r.inHeight, r.inWidth); }
  OperandExtent resampledDestination(const Resampled& r) const {
    return activation(r.layout, r.batch, r.channels, r.outHeight, r.outWidth);
  }
  OperandExtent poolSource(const Window& w, Layout layout) const {
    return activation(layout, w.batch, w.inChannels, w.inHeight, w.inWidth);
  }
  OperandExtent poolDestination(const Window& w, Layout layout) const {
    return activation(layout, w.batch, w.inChannels, w.outHeight, w.outWidth);
  }
  OperandExtent source(const Convolution& c) const { return poolSource(c, c.sourceLayout); }
  OperandExtent destination(const Convolution& c) const {
    return activation(c.destinationLayout, c.batch, c.outChannels, c.outHeight, c.outWidth);
  }
  // Those by Winograd are parameters.
  OperandExtent weights(const Convolution& c) const {
    return c.algorithm == winogradAlgorithm ? parameters(weightCount(c)) : elements(weightCount(c));
  }
  OperandExtent weightGradient(const Convolution& c) const { return parameters(weightCount(c)); }
  OperandExtent weights(const WeightReorder& r, Layout layout) const { return parameters(weightCount(r, layout)); }
  OperandExtent slicedWeights(const WeightSlice& s) const {
    return parameters(weightElements(s.sourceLayout, s.sourceOutChannels, s.sourceInChannels, s.kernelHeight, s.kernelWidth, 1));
  }
  OperandExtent castWeights(const WeightReorder& r) const { return elements(weightCount(r, r.destinationLayout)); }
  OperandExtent range(const CopyChannels& c, const ChannelRange& range) const {
    return activation(range.layout, c.batch, range.channels, c.height, c.width);
  }
  OperandExtent fine(const PixelShuffle& p, Layout layout) const { return activation(layout, p.batch, p.channels, p.height, p.width); }
  OperandExtent coarse(const PixelShuffle& p, Layout layout) const {
    return activation(layout, p.batch, checkedMultiply(p.channels, checkedMultiply(p.factor, p.factor)), p.coarseHeight, p.coarseWidth);
  }
  OperandExtent activation(const ActivationReorder& r, Layout layout) const {
    return activation(layout, r.batch, r.channels, r.height, r.width);
  }

  // What an expression over a tile reads: its input, and as far as it reads them `second` and
  // parameters.
  std::vector<OperandExtent> leaves(const PointwiseTile& p, const std::vector<ExpressionStep>& steps) const {
    const auto read = [&](Operation leaf, OperandExtent extent) {
      extent.optional = !readsLeaf(steps, leaf);
      return extent;
    };
    return {read(Operation::input, tile(p)), read(Operation::second, p.broadcast ? elements(checkedMultiply(p.batch, p.channels)) : tile(p)),
            read(Operation::weight, parameters(p.weightPerChannel ? p.channels : 1)),
            read(Operation::bias, parameters(p.biasPerChannel ? p.channels : 1))};
  }

 private:
  static std::int64_t weightCount(const WeightReorder& r, Layout layout) {
    return weightElements(layout, r.outChannels, r.inChannels / r.groups, r.kernelHeight, r.kernelWidth, r.groups);
  }
  static std::int64_t weightCount(const Convolution& c) {
    return weightElements(c.weightLayout, c.outChannels, c.inChannels / c.groups, c.kernelHeight, c.kernelWidth, c.groups);
  }
  OperandExtent sized(std::int64_t count, std::int64_t element) const {
    const std::int64_t bytes = checkedMultiply(count, element);
    if (bytes > largest_)
      throw Failure("has an operand of " + std::to_string(bytes) + " bytes, more than the " + std::to_string(largest_) +
                    " of the largest space");
    return {bytes, element, true, 0};
  }

  std::int64_t activation_, parameter_, largest_;
};

// An operand that may be absent only if its kernel does without it.
inline OperandExtent onlyIf(bool without, OperandExtent extent) {
  extent.optional = without;
  return extent;
}
inline OperandExtent sized(std::size_t bytes, std::int64_t alignment) { return {static_cast<std::int64_t>(bytes), alignment, bytes == 0, 0}; }
inline OperandExtent labels(std::int64_t rows) { return {checkedMultiply(rows, 4), 4, true, 0}; }
// Reached elements of a tile's classes in a plane of the full extents, each of so many bytes.
inline OperandExtent classes(const PlacedTile& t, std::int64_t bytes) {
  const std::int64_t rows = checkedAdd(checkedMultiply(t.batch - 1, t.fullHeight), t.height - 1);
  return {checkedMultiply(checkedAdd(checkedMultiply(rows, t.fullWidth), t.width), bytes), bytes, true, 0};
}
inline OperandExtent doubles(std::int64_t count) { return {checkedMultiply(count, 8), 8, true, 0}; }
inline OperandExtent moments(std::int64_t rows) { return doubles(checkedMultiply(rows, 3)); }
// Three sums of each channel of each image.
inline OperandExtent overlaps(std::int64_t images, std::int64_t channels) { return moments(checkedMultiply(images, channels)); }
inline OperandExtent index(std::int64_t limit) { return {0, 1, false, limit}; }

inline std::vector<OperandExtent> resampled(const Resampled& r, const OperandExtent& read, const OperandExtent& written) {
  return {read,
          written,
          index(r.fullInHeight - r.inHeight),
          index(r.fullInWidth - r.inWidth),
          index(r.fullOutHeight - r.outHeight),
          index(r.fullOutWidth - r.outWidth)};
}

}  // namespace tilefold
