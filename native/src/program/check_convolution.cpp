#include "kernel_checks.hpp"

namespace tilefold {
namespace {

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
  const bool isEngine = c.algorithm >= engineAlgorithms && c.algorithm <= mostEngineAlgorithm;
  const bool isOurs = c.algorithm >= 0 && c.algorithm <= wholeWarpgroupAlgorithm;
  if (!isOurs && !from(cudnnAlgorithms) && !from(rotatedAlgorithms) && !isEngine)
    throw Failure("algorithm is none of 0 .. " + text(wholeWarpgroupAlgorithm) + ", " + text(cudnnAlgorithms) + " .. " + text(cudnnAlgorithms + most) + ", " +
                  text(rotatedAlgorithms) + " .. " + text(rotatedAlgorithms + most) + ", " + text(engineAlgorithms) + " .. " +
                  text(mostEngineAlgorithm) + ": " + text(c.algorithm));
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

void checkSlice(const char* channels, std::int64_t source, std::int64_t first, std::int64_t count) {
  const std::string name = channels;
  notNegative(("first" + name).c_str(), first);
  if (checkedAdd(first, count) > source)
    throw Failure("source" + name + "Channels is " + text(source) + ", which are not " + text(count) + " from channel " + text(first) +
                  " on");
}

void check(const WeightSlice& s) {
  check(static_cast<const WeightReorder&>(s));
  if (s.groups != 1) throw Failure("a slice of weights has 1 group, not " + text(s.groups));
  checkSlice("Out", s.sourceOutChannels, s.firstOut, s.outChannels);
  checkSlice("In", s.sourceInChannels, s.firstIn, s.inChannels);
  const LayoutInfo& info = layoutInfo(s.destinationLayout);
  if (info.transformed() && (s.firstOut % info.out != 0 || s.firstIn % info.in != 0))
    throw Failure(std::string(info.name) + " holds channels from multiples of " + text(info.out) + " on");
}

void checkCast(const WeightReorder& r) {
  check(r);
  const LayoutInfo& info = layoutInfo(r.destinationLayout);
  if (info.transformed()) throw Failure(std::string(info.name) + " holds parameters, which are not rounded");
}

}  // namespace

bool checkConvolution(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::convolutionForward:
    case KernelKind::convolutionBackwardData:
    case KernelKind::convolutionBackwardWeights:
      check(decode<Convolution>(kernel));
      return true;
    case KernelKind::reorderWeights:
      check(decode<WeightReorder>(kernel));
      return true;
    case KernelKind::sliceWeights:
      check(decode<WeightSlice>(kernel));
      return true;
    case KernelKind::castWeights:
      checkCast(decode<WeightReorder>(kernel));
      return true;
    case KernelKind::addBias:
    case KernelKind::sumBias:
      check(decode<Tile>(kernel));
      return true;
    default:
      return false;
  }
}

}  // namespace tilefold
