#include "operand.hpp"

#include "../kernels/expression.hpp"
#include "../kernels/kernel_fields.hpp"

namespace tilefold {
namespace {

constexpr std::int64_t anyIndex = std::int64_t{1} << 53;

// Reached elements of rows of `row` contiguous elements at the given strides.
std::int64_t strided(const StridedTile& t) {
  const std::int64_t planes = checkedAdd(checkedMultiply(t.batch - 1, t.strideBatch), checkedMultiply(t.channels - 1, t.strideChannel));
  return checkedAdd(checkedAdd(planes, checkedMultiply(t.height - 1, t.strideHeight)), t.width);
}

std::int64_t reach(const CopyBox& box, const std::array<std::int64_t, 3>& strides) {
  std::int64_t elements = box.n[3];
  for (std::size_t i = 0; i < 3; ++i) elements = checkedAdd(elements, checkedMultiply(box.n[i] - 1, strides[i]));
  return elements;
}

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
    return layoutInfo(c.weightLayout).transformed() ? parameters(weightCount(c)) : elements(weightCount(c));
  }
  OperandExtent weightGradient(const Convolution& c) const { return parameters(weightCount(c)); }
  OperandExtent weights(const WeightReorder& r, Layout layout) const { return parameters(weightCount(r, layout)); }
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
  std::vector<OperandExtent> leaves(const PointwiseTile& p, const std::vector<Instruction>& instructions) const {
    const auto read = [&](Operation leaf, OperandExtent extent) {
      extent.optional = !readsLeaf(instructions, leaf);
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
OperandExtent onlyIf(bool without, OperandExtent extent) {
  extent.optional = without;
  return extent;
}
OperandExtent sized(std::size_t bytes, std::int64_t alignment) { return {static_cast<std::int64_t>(bytes), alignment, bytes == 0, 0}; }
OperandExtent labels(std::int64_t rows) { return {checkedMultiply(rows, 4), 4, true, 0}; }
// Reached elements of a tile's classes in a plane of the full extents, each of so many bytes.
OperandExtent classes(const PlacedTile& t, std::int64_t bytes) {
  const std::int64_t rows = checkedAdd(checkedMultiply(t.batch - 1, t.fullHeight), t.height - 1);
  return {checkedMultiply(checkedAdd(checkedMultiply(rows, t.fullWidth), t.width), bytes), bytes, true, 0};
}
OperandExtent doubles(std::int64_t count) { return {checkedMultiply(count, 8), 8, true, 0}; }
OperandExtent moments(std::int64_t rows) { return doubles(checkedMultiply(rows, 3)); }
// Three sums of each channel of each image.
OperandExtent overlaps(std::int64_t images, std::int64_t channels) { return moments(checkedMultiply(images, channels)); }
OperandExtent index(std::int64_t limit) { return {0, 1, false, limit}; }

std::vector<OperandExtent> resampled(const Resampled& r, const OperandExtent& read, const OperandExtent& written) {
  return {read,
          written,
          index(r.fullInHeight - r.inHeight),
          index(r.fullInWidth - r.inWidth),
          index(r.fullOutHeight - r.outHeight),
          index(r.fullOutWidth - r.outWidth)};
}

// What each operand occupies; `optional` as far as the kernel's numbers go.
std::vector<OperandExtent> occupied(const Kernel& kernel, Device& device, std::int64_t largest) {
  const Extents e(device.precision(), largest);
  switch (kernel.kind) {
    case KernelKind::convolutionForward: {
      const auto c = decode<Convolution>(kernel);
      return {e.source(c), e.weights(c), e.parameters(c.outChannels), e.destination(c), sized(device.scratchBytes(kernel), 8)};
    }
    case KernelKind::convolutionBackwardData: {
      const auto c = decode<Convolution>(kernel);
      return {e.destination(c), e.weights(c), e.source(c), sized(device.scratchBytes(kernel), 8)};
    }
    case KernelKind::convolutionBackwardWeights: {
      const auto c = decode<Convolution>(kernel);
      return {e.source(c), e.destination(c), e.weightGradient(c), e.parameters(c.outChannels), sized(device.scratchBytes(kernel), 8)};
    }
    case KernelKind::reorderWeights: {
      const auto r = decode<WeightReorder>(kernel);
      return {e.weights(r, r.sourceLayout), e.weights(r, r.destinationLayout)};
    }
    case KernelKind::reorderActivation: {
      const auto r = decode<ActivationReorder>(kernel);
      return {e.activation(r, r.sourceLayout), e.activation(r, r.destinationLayout)};
    }
    case KernelKind::rectifierForward: {
      const auto r = decode<Rectifier>(kernel);
      return {e.elements(r.count), e.elements(r.count)};
    }
    case KernelKind::rectifierBackward: {
      const auto r = decode<Rectifier>(kernel);
      return {e.elements(r.count), e.elements(r.count), e.elements(r.count)};
    }
    case KernelKind::maxPoolForward: {
      const auto p = decode<Pool>(kernel);
      return {e.poolSource(p, p.layout), e.poolDestination(p, p.layout), sized(device.indicesBytes(kernel), 4)};
    }
    case KernelKind::maxPoolBackward: {
      const auto p = decode<Pool>(kernel);
      return {e.poolDestination(p, p.layout), sized(device.indicesBytes(kernel), 4), e.poolSource(p, p.layout)};
    }
    case KernelKind::averagePoolForward: {
      const auto p = decode<AveragePool>(kernel);
      return {e.poolSource(p, p.layout), e.poolDestination(p, p.layout)};
    }
    case KernelKind::averagePoolBackward: {
      const auto p = decode<AveragePool>(kernel);
      return {e.poolDestination(p, p.layout), e.poolSource(p, p.layout)};
    }
    case KernelKind::globalAveragePoolForward: {
      const auto s = decode<GlobalAveragePool>(kernel);
      return {e.tile(s), e.parameters(checkedMultiply(s.batch, s.channels))};
    }
    case KernelKind::globalAveragePoolBackward: {
      const auto s = decode<GlobalAveragePool>(kernel);
      return {e.elements(checkedMultiply(s.batch, s.channels)), e.tile(s)};
    }
    case KernelKind::linearForward:
    case KernelKind::linearBackwardData:
    case KernelKind::linearBackwardWeights: {
      const auto l = decode<Linear>(kernel);
      const OperandExtent source = e.elements(checkedMultiply(l.batch, l.inFeatures));
      const std::int64_t weightCount = checkedMultiply(l.outFeatures, l.inFeatures);
      const OperandExtent destination = e.elements(checkedMultiply(l.batch, l.outFeatures));
      const OperandExtent bias = e.parameters(l.outFeatures);
      if (kernel.kind == KernelKind::linearForward) return {source, e.elements(weightCount), bias, destination};
      if (kernel.kind == KernelKind::linearBackwardData) return {destination, e.elements(weightCount), source};
      return {source, destination, e.parameters(weightCount), bias};
    }
    case KernelKind::dropout: {
      const auto d = decode<Dropout>(kernel);
      const std::int64_t image = checkedMultiply(checkedMultiply(d.fullChannels, d.fullHeight), d.fullWidth);
      return {e.tile(d), e.tile(d), index(anyIndex / image - d.batch), index(d.fullHeight - d.height), index(d.fullWidth - d.width)};
    }
    case KernelKind::softmaxCrossEntropyForward:
    case KernelKind::softmaxCrossEntropyBackward: {
      const auto c = decode<CrossEntropy>(kernel);
      const OperandExtent scores = e.elements(checkedMultiply(c.batch, c.classes));
      const bool forward = kernel.kind == KernelKind::softmaxCrossEntropyForward;
      return {scores, labels(c.batch), e.parameters(c.batch), forward ? doubles(2) : scores};
    }
    case KernelKind::meanSquaredErrorForward:
    case KernelKind::meanSquaredErrorBackward: {
      const auto s = decode<SquaredError>(kernel);
      return {e.tile(s), e.parameters(strided(s)), kernel.kind == KernelKind::meanSquaredErrorForward ? doubles(2) : e.tile(s)};
    }
    case KernelKind::resizeForward:
    case KernelKind::adaptivePoolForward:
    case KernelKind::padForward: {
      const auto r = decode<Resampled>(kernel);
      return resampled(r, e.resampledSource(r), e.resampledDestination(r));
    }
    case KernelKind::resizeBackward:
    case KernelKind::adaptivePoolBackward:
    case KernelKind::padBackward: {
      const auto r = decode<Resampled>(kernel);
      return resampled(r, e.resampledDestination(r), e.resampledSource(r));
    }
    case KernelKind::pixelShuffle: {
      const auto p = decode<PixelShuffle>(kernel);
      return {p.inverse ? e.fine(p, p.sourceLayout) : e.coarse(p, p.sourceLayout),
              p.inverse ? e.coarse(p, p.destinationLayout) : e.fine(p, p.destinationLayout)};
    }
    case KernelKind::channelShuffle: {
      const auto s = decode<ChannelGroups>(kernel);
      return {e.tile(s), e.tile(s)};
    }
    case KernelKind::shiftChannels: {
      const auto s = decode<ShiftChannels>(kernel);
      return {e.activation(s.sourceLayout, s.batch, s.sourceChannels, s.height, s.width), e.activation(s, s.destinationLayout)};
    }
    case KernelKind::globalMaxPoolForward:
    case KernelKind::globalMaxPoolBackward: {
      const auto t = decode<PlacedTile>(kernel);
      const std::int64_t results = checkedMultiply(t.batch, t.channels);
      const OperandExtent result = e.elements(results), maxima = doubles(checkedMultiply(results, 2));
      const OperandExtent row = index(t.fullHeight - t.height), column = index(t.fullWidth - t.width);
      if (kernel.kind == KernelKind::globalMaxPoolForward) return {e.tile(t), maxima, result, row, column};
      return {result, maxima, e.tile(t), row, column};
    }
    case KernelKind::addBias: {
      const auto t = decode<Tile>(kernel);
      return {e.parameters(t.channels), e.tile(t)};
    }
    case KernelKind::sumBias: {
      const auto t = decode<Tile>(kernel);
      return {e.tile(t), e.parameters(t.channels)};
    }
    case KernelKind::pixelCrossEntropyForward:
    case KernelKind::pixelCrossEntropyBackward: {
      const auto c = decode<PixelCrossEntropy>(kernel);
      const bool forward = kernel.kind == KernelKind::pixelCrossEntropyForward;
      return {e.tile(c), classes(c, 4), e.parameters(c.channels), doubles(1), forward ? doubles(2) : e.tile(c)};
    }
    case KernelKind::classLossForward: {
      const auto c = decode<ClassLoss>(kernel);
      return {e.tile(c), classes(c, 4), e.parameters(c.channels), e.parameters(c.batch), doubles(1), doubles(2)};
    }
    case KernelKind::classLossBackward: {
      const auto c = decode<ClassLossBackward>(kernel);
      return {e.tile(c),  classes(c, 4),                   e.parameters(c.channels), e.parameters(c.batch),
              doubles(1), overlaps(c.batch, c.channels), e.tile(c)};
    }
    case KernelKind::sumOverlaps: {
      const auto p = decode<Probabilities>(kernel);
      return {e.tile(p), classes(p, 4), overlaps(p.batch, p.channels)};
    }
    case KernelKind::overlapLoss: {
      const auto o = decode<OverlapLoss>(kernel);
      return {overlaps(o.images, o.channels), e.parameters(o.channels), doubles(2)};
    }
    case KernelKind::valueLossForward:
    case KernelKind::valueLossBackward: {
      const auto v = decode<ValueLoss>(kernel);
      const bool forward = kernel.kind == KernelKind::valueLossForward;
      return {e.tile(v), e.parameters(strided(v)), e.parameters(v.batch), doubles(1), forward ? doubles(2) : e.tile(v)};
    }
    case KernelKind::argmaxChannels: {
      const auto t = decode<PlacedTile>(kernel);
      return {e.tile(t), classes(t, 1)};
    }
    case KernelKind::momentsForward: {
      const auto t = decode<GroupedTile>(kernel);
      return {e.tile(t), moments(statisticsRows(t))};
    }
    case KernelKind::momentsOfRunning: {
      const std::int64_t channels = decode<ChannelCount>(kernel).channels;
      return {e.parameters(channels), e.parameters(channels), moments(channels)};
    }
    case KernelKind::updateRunning: {
      const std::int64_t channels = decode<UpdateRunning>(kernel).channels;
      return {moments(channels), e.parameters(channels), e.parameters(channels)};
    }
    case KernelKind::normaliseForward:
    case KernelKind::normaliseBackwardReduce:
    case KernelKind::normaliseBackward: {
      const auto n = decode<Normalise>(kernel);
      const OperandExtent tile = e.tile(n), rows = moments(statisticsRows(n)), parameters = e.parameters(n.channels);
      const std::int64_t sums = checkedMultiply(checkedMultiply(countedImages(n), n.channels), 2);
      if (kernel.kind == KernelKind::normaliseForward) return {tile, rows, parameters, parameters, tile};
      if (kernel.kind == KernelKind::normaliseBackwardReduce) return {tile, rows, parameters, parameters, tile, doubles(sums)};
      return {tile, rows, parameters, parameters, doubles(sums), tile, tile};
    }
    case KernelKind::normaliseParameters: {
      const auto p = decode<NormaliseParameters>(kernel);
      const std::int64_t sums = checkedMultiply(checkedMultiply(p.images, p.channels), 2);
      return {doubles(sums), e.parameters(p.channels), e.parameters(p.channels)};
    }
    case KernelKind::addForward: {
      const OperandExtent all = e.elements(decode<Rectifier>(kernel).count);
      return {all, all, all};
    }
    case KernelKind::copyChannels: {
      const auto c = decode<CopyChannels>(kernel);
      return {e.range(c, sourceRange(c)), e.range(c, destinationRange(c))};
    }
    case KernelKind::pointwiseForward: {
      const auto p = decode<Pointwise>(kernel);
      std::vector<OperandExtent> operands = e.leaves(p, instructionsOf(p.expression));
      operands.push_back(e.tile(p));
      return operands;
    }
    case KernelKind::pointwiseBackward: {
      const auto p = decode<Pointwise>(kernel);
      std::vector<OperandExtent> operands = e.leaves(p, instructionsOf(p.expression));
      operands.insert(operands.end(), {e.tile(p), e.tile(p)});
      return operands;
    }
    case KernelKind::pointwiseSum: {
      const auto s = decode<PointwiseSum>(kernel);
      std::vector<OperandExtent> operands = e.leaves(s, instructionsOf(s.expression));
      // One value an image and channel is a gradient of an activation.
      const bool ofActivation = rowsOf(s) == SumRows::imageChannels;
      operands.insert(operands.end(), {e.tile(s), ofActivation ? e.elements(sumCount(s)) : e.parameters(sumCount(s))});
      return operands;
    }
    case KernelKind::copyBox: {
      const auto b = decode<CopyBox>(kernel);
      const std::int64_t source = reach(b, b.sourceStride), destination = reach(b, b.destinationStride);
      if (b.ofParameters) return {e.parameters(source), e.parameters(destination)};
      return {e.elements(source), e.elements(destination)};
    }
    case KernelKind::packTile: {
      const auto t = decode<StridedTile>(kernel);
      return {e.parameters(strided(t)), e.tile(t)};
    }
    case KernelKind::unpackAddTile: {
      const auto t = decode<StridedTile>(kernel);
      return {e.tile(t), e.parameters(strided(t))};
    }
    case KernelKind::zero:
      return {{decode<Zero>(kernel).bytes, 1, true, 0}};
    case KernelKind::loadImage: {
      const auto l = decode<LoadImage>(kernel);
      return {e.tile(l), index(anyIndex - l.batch), index(l.fullHeight - l.height), index(l.fullWidth - l.width)};
    }
    case KernelKind::sgd: {
      const auto s = decode<Sgd>(kernel);
      return {e.parameters(s.count), e.parameters(s.count), onlyIf(s.momentum == 0, e.parameters(s.count))};
    }
    case KernelKind::adam: {
      const auto a = decode<Adam>(kernel);
      return {e.parameters(a.count), e.parameters(a.count), e.parameters(a.count), e.parameters(a.count)};
    }
    case KernelKind::sumSquares:
      return {e.parameters(decode<Count>(kernel).count), doubles(1)};
    case KernelKind::clipGradient:
      return {doubles(1), e.parameters(decode<ClipGradient>(kernel).count)};
    case KernelKind::squareRoot: {
      const OperandExtent roots = doubles(decode<Count>(kernel).count);
      return {roots, roots};
    }
    case KernelKind::castWeights: {
      const auto r = decode<WeightReorder>(kernel);
      return {e.weights(r, r.sourceLayout), e.castWeights(r)};
    }
  }
  throw Failure("unknown kernel");
}

}  // namespace

std::vector<OperandExtent> operandExtents(const Kernel& kernel, Device& device, std::int64_t largest) {
  std::vector<OperandExtent> extents = occupied(kernel, device, largest);
  const std::vector<OperandInfo>& operands = kernelInfo(kernel.kind).operands;
  for (std::size_t i = 0; i < extents.size(); ++i) extents[i].optional = extents[i].optional && operands[i].optional;
  return extents;
}

}  // namespace tilefold
