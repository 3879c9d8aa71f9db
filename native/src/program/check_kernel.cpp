#include "check_kernel.hpp"

#include <algorithm>

#include "../kernels/expression.hpp"
#include "../kernels/kernel_fields.hpp"

namespace tilefold {
namespace {

std::string text(std::int64_t value) { return std::to_string(value); }

void positive(const char* name, std::int64_t value) {
  if (value < 1) throw Failure(std::string(name) + " must be at least 1, not " + text(value));
}

void notNegative(const char* name, std::int64_t value) {
  if (value < 0) throw Failure(std::string(name) + " must not be negative, but is " + text(value));
}

void between(const char* name, double value, double least, double below) {
  if (!(value >= least && value < below))
    throw Failure(std::string(name) + " must lie in [" + std::to_string(least) + ", " + std::to_string(below) + "), not " +
                  std::to_string(value));
}

void notNegative(const char* name, double value) {
  if (!(value >= 0)) throw Failure(std::string(name) + " must not be negative, but is " + std::to_string(value));
}

void activationLayout(const char* name, Layout layout) {
  if (!layoutInfo(layout).activation) throw Failure(std::string(name) + " " + layoutInfo(layout).name + " is no layout of activations");
}

void weightLayout(const char* name, Layout layout) {
  if (!layoutInfo(layout).weights) throw Failure(std::string(name) + " " + layoutInfo(layout).name + " is no layout of weights");
}

// One axis of a sliding window: its output follows from the padded input.
struct Axis {
  const char* name;
  std::int64_t in, out, kernel, stride, dilation, padBefore, padAfter, overhang;
};

void checkAxis(const Axis& a) {
  const std::string axis = a.name;
  positive((axis + " of the input").c_str(), a.in);
  positive((axis + " of the output").c_str(), a.out);
  positive((axis + " of the kernel").c_str(), a.kernel);
  positive((axis + " stride").c_str(), a.stride);
  positive((axis + " dilation").c_str(), a.dilation);
  notNegative((axis + " padding before").c_str(), a.padBefore);
  notNegative((axis + " padding after").c_str(), a.padAfter);
  notNegative((axis + " overhang").c_str(), a.overhang);
  if (a.overhang > a.padAfter)
    throw Failure(axis + " overhang " + text(a.overhang) + " is more than the padding after, " + text(a.padAfter));
  const std::int64_t reach = checkedAdd(checkedMultiply(a.kernel - 1, a.dilation), 1);
  const std::int64_t padded = checkedAdd(checkedAdd(a.in, a.padBefore), a.padAfter);
  if (reach > padded) throw Failure(axis + " of the kernel reaches over " + text(reach) + ", more than the padded input's " + text(padded));
  const std::int64_t out = (padded - reach) / a.stride + 1;
  if (out != a.out) throw Failure(axis + " of the output is " + text(a.out) + ", but the window gives " + text(out));
}

void checkWindow(const Window& w, std::int64_t overhangBottom = 0, std::int64_t overhangRight = 0) {
  positive("batch", w.batch);
  positive("inChannels", w.inChannels);
  checkAxis({"height", w.inHeight, w.outHeight, w.kernelHeight, w.strideHeight, w.dilationHeight, w.padTop, w.padBottom, overhangBottom});
  checkAxis({"width", w.inWidth, w.outWidth, w.kernelWidth, w.strideWidth, w.dilationWidth, w.padLeft, w.padRight, overhangRight});
}

void checkChannels(std::int64_t outChannels, std::int64_t inChannels, std::int64_t groups) {
  positive("inChannels", inChannels);
  positive("outChannels", outChannels);
  positive("groups", groups);
  if (inChannels % groups != 0 || outChannels % groups != 0)
    throw Failure(text(groups) + " groups divide not both " + text(inChannels) + " input and " + text(outChannels) + " output channels");
}

// Transformed weights are counted and read as 3 x 3 taps of whole blocks of channels.
template <class Weights>
void checkTransformed(const Weights& w, Layout layout) {
  const LayoutInfo& info = layoutInfo(layout);
  if (!info.transformed()) return;
  if (w.kernelHeight != 3 || w.kernelWidth != 3 || w.groups != 1 || w.outChannels % info.out != 0 || w.inChannels % info.in != 0)
    throw Failure(std::string(info.name) + " holds 3 x 3 taps of one group, with channels that are multiples of " + text(info.out));
}

void check(const Convolution& c) {
  checkWindow(c);
  checkChannels(c.outChannels, c.inChannels, c.groups);
  activationLayout("sourceLayout", c.sourceLayout);
  activationLayout("destinationLayout", c.destinationLayout);
  weightLayout("weightLayout", c.weightLayout);
  checkTransformed(c, c.weightLayout);
  constexpr std::int64_t most = 7;  // of the forward direction, which has the most
  const auto from = [&](std::int64_t first) { return c.algorithm >= first && c.algorithm <= first + most; };
  if (c.algorithm != 0 && c.algorithm != 1 && !from(cudnnAlgorithms) && !from(rotatedAlgorithms))
    throw Failure("algorithm is none of 0, 1, " + text(cudnnAlgorithms) + " .. " + text(cudnnAlgorithms + most) + ", " +
                  text(rotatedAlgorithms) + " .. " + text(rotatedAlgorithms + most) + ": " + text(c.algorithm));
  notNegative("slope", c.slope);
}

void check(const WeightReorder& r) {
  checkChannels(r.outChannels, r.inChannels, r.groups);
  positive("kernelHeight", r.kernelHeight);
  positive("kernelWidth", r.kernelWidth);
  weightLayout("sourceLayout", r.sourceLayout);
  weightLayout("destinationLayout", r.destinationLayout);
  if (layoutInfo(r.sourceLayout).transformed()) throw Failure(std::string(layoutInfo(r.sourceLayout).name) + " cannot be taken back");
  checkTransformed(r, r.destinationLayout);
}

void checkCast(const WeightReorder& r) {
  check(r);
  const LayoutInfo& info = layoutInfo(r.destinationLayout);
  if (info.transformed()) throw Failure(std::string(info.name) + " holds parameters, which are not rounded");
}

void check(const ActivationReorder& r) {
  positive("batch", r.batch);
  positive("channels", r.channels);
  positive("height", r.height);
  positive("width", r.width);
  activationLayout("sourceLayout", r.sourceLayout);
  activationLayout("destinationLayout", r.destinationLayout);
}

void check(const Rectifier& r) {
  positive("count", r.count);
  notNegative("slope", r.slope);
}

void check(const Pool& p) {
  checkWindow(p);
  activationLayout("layout", p.layout);
}

void check(const AveragePool& p) {
  checkWindow(p, p.overhangBottom, p.overhangRight);
  if (p.dilationHeight != 1 || p.dilationWidth != 1) throw Failure("an average pool has no dilation");
  activationLayout("layout", p.layout);
}

void check(const Tile& t) {
  positive("batch", t.batch);
  positive("channels", t.channels);
  positive("height", t.height);
  positive("width", t.width);
  activationLayout("layout", t.layout);
}

void check(const GlobalAveragePool& s) { check(static_cast<const Tile&>(s)); }

void check(const Linear& l) {
  positive("batch", l.batch);
  positive("inFeatures", l.inFeatures);
  positive("outFeatures", l.outFeatures);
}

void check(const Dropout& d) {
  check(static_cast<const Tile&>(d));
  between("rate", d.rate, 0, 1);
  notNegative("layerKey", d.layerKey);
  if (d.channels != d.fullChannels) throw Failure("dropout is tiled along channels, " + text(d.channels) + " of " + text(d.fullChannels));
  if (d.height > d.fullHeight || d.width > d.fullWidth) throw Failure("the tile is larger than its tensor");
}

void check(const CrossEntropy& c) {
  positive("batch", c.batch);
  positive("classes", c.classes);
  if (c.fullBatch < c.batch) throw Failure("fullBatch " + text(c.fullBatch) + " is less than the tile's batch " + text(c.batch));
}

void check(const StridedTile& t) {
  check(static_cast<const Tile&>(t));
  notNegative("strideBatch", t.strideBatch);
  notNegative("strideChannel", t.strideChannel);
  notNegative("strideHeight", t.strideHeight);
}

// Rows of a tile that is written must not overlap: they are written in parallel.
struct Extent {
  std::int64_t count, stride;
};

void apart(std::array<Extent, 3> extents, std::int64_t row) {
  for (std::size_t i = 0; i < extents.size(); ++i)
    for (std::size_t j = i + 1; j < extents.size(); ++j)
      if (extents[j].stride < extents[i].stride) std::swap(extents[i], extents[j]);
  std::int64_t covered = row;
  for (const Extent& e : extents) {
    if (e.count == 1) continue;
    if (e.stride < covered)
      throw Failure("destination rows overlap: a stride of " + text(e.stride) + " over " + text(covered) + " elements");
    covered = checkedAdd(checkedMultiply(e.count - 1, e.stride), covered);
  }
}

void checkScatter(const StridedTile& t) {
  check(t);
  apart({{{t.batch, t.strideBatch}, {t.channels, t.strideChannel}, {t.height, t.strideHeight}}}, t.width);
}

void check(const SquaredError& s) {
  check(static_cast<const StridedTile&>(s));
  positive("count", s.count);
}

// Twice the product of two extents is a whole number of 64 bits.
constexpr std::int64_t longestAxis = std::int64_t{1} << 30;

void checkTileExtent(const char* name, std::int64_t tile, std::int64_t full) {
  positive(name, tile);
  if (tile > full) throw Failure(std::string(name) + " of the tile is " + text(tile) + ", more than its tensor's " + text(full));
  if (full > longestAxis) throw Failure(std::string(name) + " of a tensor is " + text(full) + ", more than " + text(longestAxis));
}

void check(const Resampled& r) {
  positive("batch", r.batch);
  positive("channels", r.channels);
  activationLayout("layout", r.layout);
  checkTileExtent("inHeight", r.inHeight, r.fullInHeight);
  checkTileExtent("inWidth", r.inWidth, r.fullInWidth);
  checkTileExtent("outHeight", r.outHeight, r.fullOutHeight);
  checkTileExtent("outWidth", r.outWidth, r.fullOutWidth);
}

void check(const Resize& r) {
  check(static_cast<const Resampled&>(r));
  if (r.alignCorners && !r.bilinear) throw Failure("alignCorners is of bilinear resizing only");
}

void check(const Pad& p) {
  check(static_cast<const Resampled&>(p));
  if (p.mode < 0 || p.mode > 2) throw Failure("mode is none of 0 .. 2: " + text(p.mode));
  const auto side = [&](const char* name, std::int64_t before, std::int64_t in, std::int64_t out) {
    notNegative(name, before);
    if (before > out - in) throw Failure(std::string(name) + " is " + text(before) + ", more than is added to " + text(in));
    if (p.mode == 1 && std::max(before, out - in - before) >= in)
      throw Failure(std::string(name) + ": a reflection reaches beyond the " + text(in) + " that are there");
  };
  side("padTop", p.padTop, p.fullInHeight, p.fullOutHeight);
  side("padLeft", p.padLeft, p.fullInWidth, p.fullOutWidth);
}

void check(const PixelShuffle& p) {
  positive("batch", p.batch);
  positive("channels", p.channels);
  positive("height", p.height);
  positive("width", p.width);
  positive("coarseHeight", p.coarseHeight);
  positive("coarseWidth", p.coarseWidth);
  positive("factor", p.factor);
  const auto before = [&](const char* name, std::int64_t count, std::int64_t fine, std::int64_t coarse) {
    notNegative(name, count);
    if (count >= p.factor) throw Failure(std::string(name) + " is " + text(count) + ", not below the factor " + text(p.factor));
    checkedAdd(fine, count);
    checkedMultiply(coarse, p.factor);
  };
  before("rowsBefore", p.rowsBefore, p.height, p.coarseHeight);
  before("columnsBefore", p.columnsBefore, p.width, p.coarseWidth);
  checkedMultiply(p.channels, checkedMultiply(p.factor, p.factor));
  activationLayout("sourceLayout", p.sourceLayout);
  activationLayout("destinationLayout", p.destinationLayout);
}

void check(const PlacedTile& t) {
  check(static_cast<const Tile&>(t));
  checkTileExtent("height", t.height, t.fullHeight);
  checkTileExtent("width", t.width, t.fullWidth);
}

// Whether a float64 counts the places of a tensor's plane.
void checkPlaces(const PlacedTile& t) {
  check(t);
  if (static_cast<double>(t.fullHeight) * static_cast<double>(t.fullWidth) > 0x1p52)
    throw Failure("a plane of " + text(t.fullHeight) + " x " + text(t.fullWidth) + " has more places than can be told apart");
}

void check(const PixelCrossEntropy& c) {
  check(static_cast<const PlacedTile&>(c));
  between("ignored", static_cast<double>(c.ignored), -0x1p31, 0x1p31);
}

void check(const ClassLoss& c) {
  check(static_cast<const PixelCrossEntropy&>(c));
  instructionsOf(c.expression);
}

void checkIndex(double alpha, double beta, double smooth, double scale) {
  notNegative("alpha", alpha);
  notNegative("beta", beta);
  notNegative("smooth", smooth);
  notNegative("scale", scale);
}

void check(const ClassLossBackward& c) {
  check(static_cast<const PixelCrossEntropy&>(c));
  checkIndex(c.alpha, c.beta, c.smooth, c.scale);
  instructionsOf(c.expression);
}

void check(const ValueLoss& v) {
  check(static_cast<const StridedTile&>(v));
  instructionsOf(v.expression);
}

void checkClasses(const PlacedTile& t) {
  check(t);
  if (t.channels > 256) throw Failure("a byte tells 256 classes apart, not " + text(t.channels));
}

void check(const ChannelGroups& t) {
  check(static_cast<const Tile&>(t));
  positive("groups", t.groups);
  if (t.channels % t.groups != 0) throw Failure(text(t.groups) + " groups do not divide " + text(t.channels) + " channels");
}

void check(const Normalise& n) {
  check(static_cast<const GroupedTile&>(n));
  notNegative("epsilon", n.epsilon);
  notNegative("slope", n.slope);
}

void check(const ChannelCount& c) { positive("channels", c.channels); }

void check(const UpdateRunning& u) {
  check(static_cast<const ChannelCount&>(u));
  if (!(u.momentum >= 0 && u.momentum <= 1)) throw Failure("momentum must lie in [0, 1], not " + std::to_string(u.momentum));
}

void check(const NormaliseParameters& p) {
  positive("images", p.images);
  positive("channels", p.channels);
}

void check(const OverlapLoss& o) {
  check(static_cast<const NormaliseParameters&>(o));
  checkIndex(o.alpha, o.beta, o.smooth, o.scale);
}

void checkRange(const char* side, const ChannelRange& range, std::int64_t count) {
  const std::string name = side;
  positive((name + "Channels").c_str(), range.channels);
  notNegative((name + "First").c_str(), range.first);
  activationLayout((name + "Layout").c_str(), range.layout);
  if (checkedAdd(range.first, count) > range.channels)
    throw Failure(name + " has " + text(range.channels) + " channels, not " + text(count) + " from channel " + text(range.first) + " on");
}

void check(const CopyChannels& c) {
  positive("batch", c.batch);
  positive("height", c.height);
  positive("width", c.width);
  positive("count", c.count);
  checkRange("source", sourceRange(c), c.count);
  checkRange("destination", destinationRange(c), c.count);
}

// The channels of one side lie within those of the other.
void check(const ShiftChannels& s) {
  check(static_cast<const ActivationReorder&>(s));
  positive("sourceChannels", s.sourceChannels);
  const bool narrows = s.channels <= s.sourceChannels;
  const std::int64_t first = narrows ? s.offset : -s.offset, inner = narrows ? s.channels : s.sourceChannels,
                     outer = narrows ? s.sourceChannels : s.channels;
  if (first < 0 || checkedAdd(first, inner) > outer)
    throw Failure(text(inner) + " channels from channel " + text(first) + " on are not within " + text(outer));
}

void check(const Pointwise& p) {
  check(static_cast<const Tile&>(p));
  instructionsOf(p.expression);
}

void check(const PointwiseSum& s) {
  check(static_cast<const Tile&>(s));
  if (s.rows < 0 || s.rows > 2) throw Failure("rows is none of 0 .. 2: " + text(s.rows));
  instructionsOf(s.expression);
}

void check(const CopyBox& b) {
  for (const std::int64_t n : b.n) positive("an extent of the box", n);
  for (const std::int64_t s : b.sourceStride) notNegative("a source stride", s);
  for (const std::int64_t s : b.destinationStride) notNegative("a destination stride", s);
  apart({{{b.n[0], b.destinationStride[0]}, {b.n[1], b.destinationStride[1]}, {b.n[2], b.destinationStride[2]}}},
        b.n[3]);
}

void check(const Zero& z) { positive("bytes", z.bytes); }

void check(const LoadImage& l) {
  check(static_cast<const Tile&>(l));
  if (l.channels > mostImageChannels)
    throw Failure("an image has at most " + text(mostImageChannels) + " channels, not " + text(l.channels));
  if (l.normalisation.size() != 2 * static_cast<std::size_t>(l.channels))
    throw Failure("an image of " + text(l.channels) + " channels has " + text(static_cast<std::int64_t>(l.normalisation.size())) +
                  " numbers of normalisation instead of two for each");
  if (l.height > l.fullHeight || l.width > l.fullWidth) throw Failure("the tile is larger than its image");
  for (std::int64_t c = 0; c < l.channels; ++c)
    if (deviationOf(l, static_cast<std::size_t>(c)) == 0) throw Failure("the deviation of channel " + text(c) + " is 0");
}

void check(const Optimizer& o) {
  positive("count", o.count);
  notNegative("rate", o.rate);
  notNegative("weightDecay", o.weightDecay);
}

void check(const Sgd& s) {
  check(static_cast<const Optimizer&>(s));
  notNegative("momentum", s.momentum);
}

void check(const Adam& a) {
  check(static_cast<const Optimizer&>(a));
  between("beta1", a.beta1, 0, 1);
  between("beta2", a.beta2, 0, 1);
  notNegative("epsilon", a.epsilon);
}

void check(const ClipGradient& c) {
  positive("count", c.count);
  if (!(c.maxNorm > 0)) throw Failure("maxNorm must be above 0, not " + std::to_string(c.maxNorm));
}

void check(const Count& c) { positive("count", c.count); }

void checkFields(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::convolutionForward:
    case KernelKind::convolutionBackwardData:
    case KernelKind::convolutionBackwardWeights:
      return check(decode<Convolution>(kernel));
    case KernelKind::reorderWeights:
      return check(decode<WeightReorder>(kernel));
    case KernelKind::reorderActivation:
      return check(decode<ActivationReorder>(kernel));
    case KernelKind::rectifierForward:
    case KernelKind::rectifierBackward:
      return check(decode<Rectifier>(kernel));
    case KernelKind::maxPoolForward:
    case KernelKind::maxPoolBackward:
      return check(decode<Pool>(kernel));
    case KernelKind::averagePoolForward:
    case KernelKind::averagePoolBackward:
      return check(decode<AveragePool>(kernel));
    case KernelKind::globalAveragePoolForward:
    case KernelKind::globalAveragePoolBackward:
      return check(decode<GlobalAveragePool>(kernel));
    case KernelKind::linearForward:
    case KernelKind::linearBackwardData:
    case KernelKind::linearBackwardWeights:
      return check(decode<Linear>(kernel));
    case KernelKind::dropout:
      return check(decode<Dropout>(kernel));
    case KernelKind::softmaxCrossEntropyForward:
    case KernelKind::softmaxCrossEntropyBackward:
      return check(decode<CrossEntropy>(kernel));
    case KernelKind::meanSquaredErrorForward:
    case KernelKind::meanSquaredErrorBackward:
      return check(decode<SquaredError>(kernel));
    case KernelKind::resizeForward:
    case KernelKind::resizeBackward:
      return check(decode<Resize>(kernel));
    case KernelKind::adaptivePoolForward:
    case KernelKind::adaptivePoolBackward:
      return check(decode<Resampled>(kernel));
    case KernelKind::padForward:
    case KernelKind::padBackward:
      return check(decode<Pad>(kernel));
    case KernelKind::pixelShuffle:
      return check(decode<PixelShuffle>(kernel));
    case KernelKind::channelShuffle:
      return check(decode<ChannelGroups>(kernel));
    case KernelKind::shiftChannels:
      return check(decode<ShiftChannels>(kernel));
    case KernelKind::globalMaxPoolForward:
    case KernelKind::globalMaxPoolBackward:
      return checkPlaces(decode<PlacedTile>(kernel));
    case KernelKind::addBias:
    case KernelKind::sumBias:
      return check(decode<Tile>(kernel));
    case KernelKind::pixelCrossEntropyForward:
    case KernelKind::pixelCrossEntropyBackward:
      return check(decode<PixelCrossEntropy>(kernel));
    case KernelKind::classLossForward:
      return check(decode<ClassLoss>(kernel));
    case KernelKind::classLossBackward:
      return check(decode<ClassLossBackward>(kernel));
    case KernelKind::sumOverlaps:
      return check(decode<Probabilities>(kernel));
    case KernelKind::overlapLoss:
      return check(decode<OverlapLoss>(kernel));
    case KernelKind::valueLossForward:
    case KernelKind::valueLossBackward:
      return check(decode<ValueLoss>(kernel));
    case KernelKind::argmaxChannels:
      return checkClasses(decode<PlacedTile>(kernel));
    case KernelKind::momentsForward:
      return check(decode<GroupedTile>(kernel));
    case KernelKind::momentsOfRunning:
      return check(decode<ChannelCount>(kernel));
    case KernelKind::updateRunning:
      return check(decode<UpdateRunning>(kernel));
    case KernelKind::normaliseForward:
    case KernelKind::normaliseBackwardReduce:
    case KernelKind::normaliseBackward:
      return check(decode<Normalise>(kernel));
    case KernelKind::normaliseParameters:
      return check(decode<NormaliseParameters>(kernel));
    case KernelKind::addForward:
      return check(decode<Rectifier>(kernel));
    case KernelKind::copyChannels:
      return check(decode<CopyChannels>(kernel));
    case KernelKind::pointwiseForward:
    case KernelKind::pointwiseBackward:
      return check(decode<Pointwise>(kernel));
    case KernelKind::pointwiseSum:
      return check(decode<PointwiseSum>(kernel));
    case KernelKind::copyBox:
      return check(decode<CopyBox>(kernel));
    case KernelKind::packTile:
      return check(decode<StridedTile>(kernel));
    case KernelKind::unpackAddTile:
      return checkScatter(decode<StridedTile>(kernel));
    case KernelKind::zero:
      return check(decode<Zero>(kernel));
    case KernelKind::loadImage:
      return check(decode<LoadImage>(kernel));
    case KernelKind::sgd:
      return check(decode<Sgd>(kernel));
    case KernelKind::adam:
      return check(decode<Adam>(kernel));
    case KernelKind::sumSquares:
      return check(decode<Count>(kernel));
    case KernelKind::clipGradient:
      return check(decode<ClipGradient>(kernel));
    case KernelKind::squareRoot:
      return check(decode<Count>(kernel));
    case KernelKind::castWeights:
      return checkCast(decode<WeightReorder>(kernel));
  }
}

}  // namespace

void checkKernel(const Kernel& kernel) {
  const KernelInfo& info = kernelInfo(kernel.kind);
  const std::size_t count = numberCount(info, kernel.fields.begin(), kernel.fields.end());
  if (kernel.fields.size() != count)
    throw Failure(std::string(info.name) + " has " + std::to_string(count) + " fields, not " + std::to_string(kernel.fields.size()));
  try {
    checkFields(kernel);
  } catch (const Failure& failure) {
    throw Failure(std::string(info.name) + ": " + failure.what());
  }
}

}  // namespace tilefold
