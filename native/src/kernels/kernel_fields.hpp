// The fields of each kind of kernel by name: `const auto c = decode<Convolution>(kernel)`, and what
// follows from them. decode throws Failure for a number that is not what its field may be;
// checkKernel proves the rest.
#pragma once
#include <cmath>

#include "field_reader.hpp"
#include "host_device.hpp"

namespace tilefold {

template <class FieldsOfKind>
FieldsOfKind decode(const Kernel& kernel) {
  FieldReader fields(kernel);
  return FieldsOfKind(fields);
}

// Algorithms of convolutions.
constexpr std::int64_t winogradAlgorithm = 1;     // of the cpu device
constexpr std::int64_t fewChannelsAlgorithm = 2;  // of the cuda device (cuda/few_channels.hpp)
// Of the cuda device (cuda/warpgroup_gradient.hpp).
constexpr std::int64_t warpgroupAlgorithm = 3, wholeWarpgroupAlgorithm = 4;
constexpr std::int64_t cudnnAlgorithms = 16;      // 16 + n is cuDNN's algorithm n of its direction
// 32 + n of convolutionBackwardData: cuDNN's forward algorithm n with rotated weights.
constexpr std::int64_t rotatedAlgorithms = 32;
// And above: an engine of cuDNN's graphs with its knobs (cuda/engine_configuration.hpp).
constexpr std::int64_t engineAlgorithms = std::int64_t{1} << 32;
constexpr std::int64_t mostEngineAlgorithm = (std::int64_t{1} << 52) - 1;

// In place of a class, of a pixel that has a score that is not finite.
constexpr std::uint8_t noClass = 255;

constexpr std::int64_t mostImageChannels = 64;
inline double meanOf(const LoadImage& l, std::size_t channel) { return l.normalisation[2 * channel]; }
inline double deviationOf(const LoadImage& l, std::size_t channel) { return l.normalisation[2 * channel + 1]; }

// Where a row of a tile lies in a plane of the full extents.
inline std::int64_t rowStart(const PlacedTile& t, std::int64_t image, std::int64_t row) {
  return (image * t.fullHeight + row) * t.fullWidth;
}

// How often each channel is counted apart, and how many rows of statistics there are.
inline std::int64_t countedImages(const GroupedTile& t) { return t.perImage ? t.batch : 1; }
inline std::int64_t statisticsRows(const GroupedTile& t) { return countedImages(t) * t.groups; }
// The row of statistics of a channel, and where it is counted apart.
TILEFOLD_HOST_DEVICE inline std::int64_t statisticsRow(const GroupedTile& t, std::int64_t image, std::int64_t channel) {
  return (t.perImage ? image * t.groups : 0) + channel / (t.channels / t.groups);
}
TILEFOLD_HOST_DEVICE inline std::int64_t channelRow(const GroupedTile& t, std::int64_t image, std::int64_t channel) {
  return (t.perImage ? image * t.channels : 0) + channel;
}

// Whether all boxes of rows are added to one.
inline bool sums(const CopyBox& b) { return b.n[0] > 1 && b.destinationStride[0] == 0; }

// Some channels of every pixel of a tile.
struct ChannelRange {
  std::int64_t channels, first;
  Layout layout;
};
inline ChannelRange sourceRange(const CopyChannels& c) { return {c.sourceChannels, c.sourceFirst, c.sourceLayout}; }
inline ChannelRange destinationRange(const CopyChannels& c) { return {c.destinationChannels, c.destinationFirst, c.destinationLayout}; }

// Labels that scores of so many channels tell apart, and what a channel is to be of a label: a
// single channel tells 1 from 0.
TILEFOLD_HOST_DEVICE inline std::int64_t labelCount(std::int64_t channels) { return channels == 1 ? 2 : channels; }
TILEFOLD_HOST_DEVICE inline double targetOf(std::int64_t channels, std::int64_t channel, std::int64_t label) {
  return label == (channels == 1 ? 1 : channel) ? 1 : 0;
}

// The Tversky index of the overlaps I, P, T of a class in an image: 1 - numerator / denominator.
struct Index {
  double numerator, denominator;

  template <class Fields>
  TILEFOLD_HOST_DEVICE Index(const Fields& f, const double* overlaps)
      : numerator(overlaps[0] + f.smooth),
        denominator(overlaps[0] + f.alpha * (overlaps[1] - overlaps[0]) + f.beta * (overlaps[2] - overlaps[0]) + f.smooth) {}
  TILEFOLD_HOST_DEVICE double loss() const { return denominator == 0 ? 0 : 1 - numerator / denominator; }
  // The loss's derivative by the probability of a pixel with this target.
  template <class Fields>
  TILEFOLD_HOST_DEVICE double derivative(const Fields& f, double target) const {
    if (denominator == 0) return 0;
    const double ratio = numerator / denominator;
    return (ratio * (f.alpha + target * (1 - f.alpha - f.beta)) - target) / denominator;
  }
};

// Values that a sum over a tile makes.
enum class SumRows { one, channels, imageChannels };
inline SumRows rowsOf(const PointwiseSum& s) { return static_cast<SumRows>(s.rows); }
inline std::int64_t sumCount(const PointwiseSum& s) {
  return rowsOf(s) == SumRows::one ? 1 : rowsOf(s) == SumRows::channels ? s.channels : s.batch * s.channels;
}

// What a gradient is multiplied by, given the sum of the squares of all of them; a sum that is no
// number makes it none either.
inline double clippingScale(const ClipGradient& c, double sumSquares) {
  const double ratio = c.maxNorm / (std::sqrt(sumSquares) + 1e-6);
  return ratio > 1 ? 1 : ratio;
}

}  // namespace tilefold
