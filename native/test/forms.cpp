#include "forms.hpp"

namespace tilefold::test {
namespace {

double d(std::int64_t value) { return static_cast<double>(value); }
double code(Layout layout) { return static_cast<double>(static_cast<int>(layout)); }

Form activation(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return {Form::Kind::activation,
          {KernelKind::reorderActivation, {d(batch), d(channels), d(height), d(width), code(layout), 0}},
          {KernelKind::reorderActivation, {d(batch), d(channels), d(height), d(width), 0, code(layout)}}};
}

Form weights(Layout layout, std::int64_t out, std::int64_t in, std::int64_t height, std::int64_t width, std::int64_t groups) {
  return {Form::Kind::weights,
          {KernelKind::reorderWeights, {d(out), d(in), d(height), d(width), d(groups), code(layout), 0}},
          {KernelKind::reorderWeights, {d(out), d(in), d(height), d(width), d(groups), 0, code(layout)}}};
}

Form tile(const Tile& t) { return activation(t.layout, t.batch, t.channels, t.height, t.width); }
// A value an image and channel, and the second operand of an expression.
Form ofChannels(const Tile& t) { return activation(Layout::plain, t.batch, t.channels, 1, 1); }
Form secondOf(const PointwiseTile& p) { return p.broadcast ? ofChannels(p) : tile(p); }
Form poolSource(const Window& w, Layout layout) { return activation(layout, w.batch, w.inChannels, w.inHeight, w.inWidth); }
Form poolDestination(const Window& w, Layout layout) { return activation(layout, w.batch, w.inChannels, w.outHeight, w.outWidth); }

Form resampledSource(const Resampled& r) { return activation(r.layout, r.batch, r.channels, r.inHeight, r.inWidth); }
Form resampledDestination(const Resampled& r) { return activation(r.layout, r.batch, r.channels, r.outHeight, r.outWidth); }

const Form plain{Form::Kind::plain}, indices{Form::Kind::indices}, labels{Form::Kind::labels}, moment{Form::Kind::moment},
    doubles{Form::Kind::doubles}, statistics{Form::Kind::statistics}, maxima{Form::Kind::maxima}, overlaps{Form::Kind::doubles},
    other{Form::Kind::other};

}  // namespace

std::vector<Form> formsOf(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::convolutionForward:
    case KernelKind::convolutionBackwardData:
    case KernelKind::convolutionBackwardWeights: {
      const auto c = decode<Convolution>(kernel);
      const Form source = poolSource(c, c.sourceLayout);
      const Form destination = activation(c.destinationLayout, c.batch, c.outChannels, c.outHeight, c.outWidth);
      const Form matrix = weights(c.weightLayout, c.outChannels, c.inChannels, c.kernelHeight, c.kernelWidth, c.groups);
      if (kernel.kind == KernelKind::convolutionForward) return {source, matrix, plain, destination, other};
      if (kernel.kind == KernelKind::convolutionBackwardData) return {destination, matrix, source, other};
      return {source, destination, matrix, plain, other};
    }
    case KernelKind::reorderWeights:
    case KernelKind::castWeights: {
      const auto r = decode<WeightReorder>(kernel);
      return {weights(r.sourceLayout, r.outChannels, r.inChannels, r.kernelHeight, r.kernelWidth, r.groups),
              weights(r.destinationLayout, r.outChannels, r.inChannels, r.kernelHeight, r.kernelWidth, r.groups)};
    }
    case KernelKind::sliceWeights: {
      const auto s = decode<WeightSlice>(kernel);
      return {weights(s.sourceLayout, s.sourceOutChannels, s.sourceInChannels, s.kernelHeight, s.kernelWidth, 1),
              weights(s.destinationLayout, s.outChannels, s.inChannels, s.kernelHeight, s.kernelWidth, 1)};
    }
    case KernelKind::reorderActivation: {
      const auto r = decode<ActivationReorder>(kernel);
      return {activation(r.sourceLayout, r.batch, r.channels, r.height, r.width),
              activation(r.destinationLayout, r.batch, r.channels, r.height, r.width)};
    }
    case KernelKind::rectifierForward:
      return {plain, plain};
    case KernelKind::rectifierBackward:
      return {plain, plain, plain};
    case KernelKind::maxPoolForward: {
      const auto p = decode<Pool>(kernel);
      return {poolSource(p, p.layout), poolDestination(p, p.layout), indices};
    }
    case KernelKind::maxPoolBackward: {
      const auto p = decode<Pool>(kernel);
      return {poolDestination(p, p.layout), indices, poolSource(p, p.layout)};
    }
    case KernelKind::averagePoolForward: {
      const auto p = decode<AveragePool>(kernel);
      return {poolSource(p, p.layout), poolDestination(p, p.layout)};
    }
    case KernelKind::averagePoolBackward: {
      const auto p = decode<AveragePool>(kernel);
      return {poolDestination(p, p.layout), poolSource(p, p.layout)};
    }
    case KernelKind::globalAveragePoolForward:
      return {tile(decode<GlobalAveragePool>(kernel)), plain};
    case KernelKind::globalAveragePoolBackward:
      return {plain, tile(decode<GlobalAveragePool>(kernel))};
    case KernelKind::linearForward:
    case KernelKind::linearBackwardWeights:
      return {plain, plain, plain, plain};
    case KernelKind::linearBackwardData:
      return {plain, plain, plain};
    case KernelKind::dropout: {
      const Form form = tile(decode<Dropout>(kernel));
      return {form, form, other, other, other};
    }
    case KernelKind::softmaxCrossEntropyForward:
      return {plain, labels, plain, doubles};
    case KernelKind::softmaxCrossEntropyBackward:
      return {plain, labels, plain, plain};
    case KernelKind::meanSquaredErrorForward:
      return {tile(decode<SquaredError>(kernel)), plain, doubles};
    case KernelKind::meanSquaredErrorBackward: {
      const Form form = tile(decode<SquaredError>(kernel));
      return {form, plain, form};
    }
    case KernelKind::momentsForward:
      return {tile(decode<GroupedTile>(kernel)), statistics};
    case KernelKind::mergeMoments:
      return {statistics, statistics};
    case KernelKind::addSums:
      return {doubles, doubles};
    case KernelKind::momentsOfRunning:
      return {plain, moment, statistics};
    case KernelKind::updateRunning:
      return {statistics, plain, moment};
    case KernelKind::normaliseForward: {
      const Form form = tile(decode<Normalise>(kernel));
      return {form, statistics, plain, plain, form};
    }
    case KernelKind::normaliseBackwardReduce: {
      const Form form = tile(decode<Normalise>(kernel));
      return {form, statistics, plain, plain, form, doubles};
    }
    case KernelKind::normalisedConvolutionForward:
    case KernelKind::normalisedConvolutionBackwardWeights: {
      const auto c = decode<NormalisedConvolution>(kernel);
      const Form source = tile(c), destination = activation(c.layout, c.batch, c.outChannels, c.height, c.width);
      const Form matrix = weights(c.weightLayout, c.outChannels, c.channels, 1, 1, 1);
      if (kernel.kind == KernelKind::normalisedConvolutionForward)
        return {source, statistics, plain, plain, matrix, plain, destination, other};
      return {source, statistics, plain, plain, destination, matrix, plain, other};
    }
    case KernelKind::normaliseParameters:
      return {doubles, plain, plain};
    case KernelKind::normaliseBackward: {
      const Form form = tile(decode<Normalise>(kernel));
      return {form, statistics, plain, plain, doubles, form, form};
    }
    case KernelKind::addForward:
      return {plain, plain, plain};
    case KernelKind::copyChannels: {
      const auto c = decode<CopyChannels>(kernel);
      const auto side = [&](const ChannelRange& range) { return activation(range.layout, c.batch, range.channels, c.height, c.width); };
      return {side(sourceRange(c)), side(destinationRange(c))};
    }
    case KernelKind::pointwiseForward: {
      const auto p = decode<Pointwise>(kernel);
      return {tile(p), secondOf(p), plain, plain, tile(p)};
    }
    case KernelKind::pointwiseBackward: {
      const auto p = decode<Pointwise>(kernel);
      return {tile(p), secondOf(p), plain, plain, tile(p), tile(p)};
    }
    case KernelKind::pointwiseSum: {
      const auto s = decode<PointwiseSum>(kernel);
      return {tile(s), secondOf(s), plain, plain, tile(s), rowsOf(s) == SumRows::imageChannels ? ofChannels(s) : plain};
    }
    case KernelKind::resizeForward:
    case KernelKind::adaptivePoolForward:
    case KernelKind::padForward: {
      const auto r = decode<Resampled>(kernel);
      return {resampledSource(r), resampledDestination(r), other, other, other, other};
    }
    case KernelKind::resizeBackward:
    case KernelKind::adaptivePoolBackward:
    case KernelKind::padBackward: {
      const auto r = decode<Resampled>(kernel);
      return {resampledDestination(r), resampledSource(r), other, other, other, other};
    }
    case KernelKind::pixelShuffle: {
      const auto p = decode<PixelShuffle>(kernel);
      const std::int64_t coarseChannels = p.channels * p.factor * p.factor;
      if (p.inverse)
        return {activation(p.sourceLayout, p.batch, p.channels, p.height, p.width),
                activation(p.destinationLayout, p.batch, coarseChannels, p.coarseHeight, p.coarseWidth)};
      return {activation(p.sourceLayout, p.batch, coarseChannels, p.coarseHeight, p.coarseWidth),
              activation(p.destinationLayout, p.batch, p.channels, p.height, p.width)};
    }
    case KernelKind::shiftChannels: {
      const auto s = decode<ShiftChannels>(kernel);
      return {activation(s.sourceLayout, s.batch, s.sourceChannels, s.height, s.width),
              activation(s.destinationLayout, s.batch, s.channels, s.height, s.width)};
    }
    case KernelKind::channelShuffle: {
      const Form form = tile(decode<ChannelGroups>(kernel));
      return {form, form};
    }
    case KernelKind::globalMaxPoolForward:
      return {tile(decode<Tile>(kernel)), maxima, plain, other, other};
    case KernelKind::mergeMaxima:
      return {maxima, maxima, plain};
    case KernelKind::globalMaxPoolBackward:
      return {plain, maxima, tile(decode<Tile>(kernel)), other, other};
    case KernelKind::addBias:
      return {plain, tile(decode<Tile>(kernel))};
    case KernelKind::sumBias:
      return {tile(decode<Tile>(kernel)), plain};
    case KernelKind::pixelCrossEntropyForward:
      return {tile(decode<Tile>(kernel)), labels, plain, doubles, doubles};
    case KernelKind::pixelCrossEntropyBackward: {
      const Form form = tile(decode<Tile>(kernel));
      return {form, labels, plain, doubles, form};
    }
    case KernelKind::classLossForward:
      return {tile(decode<Tile>(kernel)), labels, plain, plain, doubles, doubles};
    case KernelKind::classLossBackward: {
      const Form form = tile(decode<Tile>(kernel));
      return {form, labels, plain, plain, doubles, overlaps, form};
    }
    case KernelKind::sumOverlaps:
      return {tile(decode<Tile>(kernel)), labels, overlaps};
    case KernelKind::overlapLoss:
      return {overlaps, plain, doubles};
    case KernelKind::valueLossForward:
      return {tile(decode<Tile>(kernel)), plain, plain, doubles, doubles};
    case KernelKind::valueLossBackward: {
      const Form form = tile(decode<Tile>(kernel));
      return {form, plain, plain, doubles, form};
    }
    case KernelKind::argmaxChannels:
      return {tile(decode<Tile>(kernel)), other};
    case KernelKind::copyBox:
      return {plain, plain};
    case KernelKind::packTile:
      return {plain, tile(decode<StridedTile>(kernel))};
    case KernelKind::unpackAddTile:
      return {tile(decode<StridedTile>(kernel)), plain};
    case KernelKind::zero:
      return {other};
    case KernelKind::loadImage:
      return {tile(decode<LoadImage>(kernel)), other, other, other};
    case KernelKind::sgd:
      return {plain, plain, plain};
    case KernelKind::adam:
      return {plain, plain, moment, moment};
    case KernelKind::sumSquares:
      return {plain, doubles};
    case KernelKind::clipGradient:
      return {doubles, plain};
    case KernelKind::squareRoot:
      return {doubles, doubles};
  }
  return {};
}

}  // namespace tilefold::test
