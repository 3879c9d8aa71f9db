#include "kernel_checks.hpp"

namespace tilefold {
namespace {

// Twice the product of two extents is a whole number of 64 bits.
constexpr std::int64_t longestAxis = std::int64_t{1} << 30;

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

}  // namespace

void positive(const char* name, std::int64_t value) {
  if (value < 1) throw Failure(std::string(name) + " must be at least 1, not " + text(value));
}

void notNegative(const char* name, std::int64_t value) {
  if (value < 0) throw Failure(std::string(name) + " must not be negative, but is " + text(value));
}

void notNegative(const char* name, double value) {
  if (!(value >= 0)) throw Failure(std::string(name) + " must not be negative, but is " + std::to_string(value));
}

void between(const char* name, double value, double least, double below) {
  if (!(value >= least && value < below))
    throw Failure(std::string(name) + " must lie in [" + std::to_string(least) + ", " + std::to_string(below) + "), not " +
                  std::to_string(value));
}

void activationLayout(const char* name, Layout layout) {
  if (!layoutInfo(layout).activation) throw Failure(std::string(name) + " " + layoutInfo(layout).name + " is no layout of activations");
}

void weightLayout(const char* name, Layout layout) {
  if (!layoutInfo(layout).weights) throw Failure(std::string(name) + " " + layoutInfo(layout).name + " is no layout of weights");
}

void check(const Tile& t) {
  positive("batch", t.batch);
  positive("channels", t.channels);
  positive("height", t.height);
  positive("width", t.width);
  activationLayout("layout", t.layout);
}

void check(const StridedTile& t) {
  check(static_cast<const Tile&>(t));
  notNegative("strideBatch", t.strideBatch);
  notNegative("strideChannel", t.strideChannel);
  notNegative("strideHeight", t.strideHeight);
}

void checkTileExtent(const char* name, std::int64_t tile, std::int64_t full) {
  positive(name, tile);
  if (tile > full) throw Failure(std::string(name) + " of the tile is " + text(tile) + ", more than its tensor's " + text(full));
  if (full > longestAxis) throw Failure(std::string(name) + " of a tensor is " + text(full) + ", more than " + text(longestAxis));
}

void check(const PlacedTile& t) {
  check(static_cast<const Tile&>(t));
  checkTileExtent("height", t.height, t.fullHeight);
  checkTileExtent("width", t.width, t.fullWidth);
}

void check(const ChannelGroups& t) {
  check(static_cast<const Tile&>(t));
  positive("groups", t.groups);
  if (t.channels % t.groups != 0) throw Failure(text(t.groups) + " groups do not divide " + text(t.channels) + " channels");
}

void check(const MergeParts& m) {
  positive("rows", m.rows);
  positive("parts", m.parts);
}

void checkWindow(const Window& w, std::int64_t overhangBottom, std::int64_t overhangRight) {
  positive("batch", w.batch);
  positive("inChannels", w.inChannels);
  checkAxis({"height", w.inHeight, w.outHeight, w.kernelHeight, w.strideHeight, w.dilationHeight, w.padTop, w.padBottom, overhangBottom});
  checkAxis({"width", w.inWidth, w.outWidth, w.kernelWidth, w.strideWidth, w.dilationWidth, w.padLeft, w.padRight, overhangRight});
}

}  // namespace tilefold
