#include "operand.hpp"

#include "operand_extents.hpp"

namespace tilefold {
namespace {

constexpr std::int64_t anyIndex = std::int64_t{1} << 53;

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
    case KernelKind::sliceWeights: {
      const auto s = decode<WeightSlice>(kernel);
      return {e.slicedWeights(s), e.weights(s, s.destinationLayout)};
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
    case KernelKind::mergeMaxima: {
      const auto m = decode<MergeParts>(kernel);
      return {doubles(checkedMultiply(checkedMultiply(m.rows, m.parts), 2)), doubles(checkedMultiply(m.rows, 2)), e.elements(m.rows)};
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
    case KernelKind::mergeMoments: {
      const auto m = decode<MergeParts>(kernel);
      return {moments(checkedMultiply(m.rows, m.parts)), moments(m.rows)};
    }
    case KernelKind::addSums: {
      const auto s = decode<AddSums>(kernel);
      return {doubles(checkedMultiply(s.count, s.parts)), doubles(s.count)};
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
    case KernelKind::normalisedConvolutionForward:
    case KernelKind::normalisedConvolutionBackwardWeights: {
      const auto c = decode<NormalisedConvolution>(kernel);
      const OperandExtent source = e.tile(c), rows = moments(statisticsRows(c)), parameters = e.parameters(c.channels);
      const OperandExtent destination = e.activation(c.layout, c.batch, c.outChannels, c.height, c.width);
      const OperandExtent bias = e.parameters(c.outChannels), scratch = sized(device.scratchBytes(kernel), 8);
      const std::int64_t matrix = weightElements(c.weightLayout, c.outChannels, c.channels, 1, 1, 1);
      if (kernel.kind == KernelKind::normalisedConvolutionForward)
        return {source, rows, parameters, parameters, e.elements(matrix), bias, destination, scratch};
      return {source, rows, parameters, parameters, destination, e.parameters(matrix), bias, scratch};
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
      std::vector<OperandExtent> operands = e.leaves(p, expressionSteps(p.expression));
      operands.push_back(e.tile(p));
      return operands;
    }
    case KernelKind::pointwiseBackward: {
      const auto p = decode<Pointwise>(kernel);
      std::vector<OperandExtent> operands = e.leaves(p, expressionSteps(p.expression));
      operands.insert(operands.end(), {e.tile(p), e.tile(p)});
      return operands;
    }
    case KernelKind::pointwiseSum: {
      const auto s = decode<PointwiseSum>(kernel);
      std::vector<OperandExtent> operands = e.leaves(s, expressionSteps(s.expression));
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
