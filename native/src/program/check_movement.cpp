#include "kernel_checks.hpp"

namespace tilefold {
namespace {

void check(const ActivationReorder& r) {
  positive("batch", r.batch);
  positive("channels", r.channels);
  positive("height", r.height);
  positive("width", r.width);
  activationLayout("sourceLayout", r.sourceLayout);
  activationLayout("destinationLayout", r.destinationLayout);
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

void check(const CopyBox& b) {
  for (const std::int64_t n : b.n) positive("an extent of the box", n);
  for (const std::int64_t s : b.sourceStride) notNegative("a source stride", s);
  for (const std::int64_t s : b.destinationStride) notNegative("a destination stride", s);
  if (sums(b) && !b.add) throw Failure("boxes that are not added are all copied to one place");
  apart({{{sums(b) ? 1 : b.n[0], b.destinationStride[0]}, {b.n[1], b.destinationStride[1]}, {b.n[2], b.destinationStride[2]}}}, b.n[3]);
}

void checkScatter(const StridedTile& t) {
  check(t);
  apart({{{t.batch, t.strideBatch}, {t.channels, t.strideChannel}, {t.height, t.strideHeight}}}, t.width);
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

}  // namespace

bool checkMovement(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::reorderActivation:
      check(decode<ActivationReorder>(kernel));
      return true;
    case KernelKind::copyChannels:
      check(decode<CopyChannels>(kernel));
      return true;
    case KernelKind::pixelShuffle:
      check(decode<PixelShuffle>(kernel));
      return true;
    case KernelKind::channelShuffle:
      check(decode<ChannelGroups>(kernel));
      return true;
    case KernelKind::shiftChannels:
      check(decode<ShiftChannels>(kernel));
      return true;
    case KernelKind::copyBox:
      check(decode<CopyBox>(kernel));
      return true;
    case KernelKind::packTile:
      check(decode<StridedTile>(kernel));
      return true;
    case KernelKind::unpackAddTile:
      checkScatter(decode<StridedTile>(kernel));
      return true;
    case KernelKind::zero:
      check(decode<Zero>(kernel));
      return true;
    case KernelKind::loadImage:
      check(decode<LoadImage>(kernel));
      return true;
    default:
      return false;
  }
}

}  // namespace tilefold
