// Shuffles of pixels and channels and padding of tiles, plain or nhwc. Semantics:
// reference/movement.cpp and padding.cpp; every result gathers what it is made of.
#include "../../kernels/padding.hpp"
#include "activation.cuh"
#include "compiled.hpp"
#include "element_loop.cuh"
#include "families.hpp"

namespace tilefold::cuda {
namespace {

// value(place) for every element of an activation of `count` elements.
template <class T, class Value>
void forEachPlace(const Context& context, const char* name, const Activation& activation, std::int64_t count, T* result,
                  const Value& value) {
  forEachPack<T>(context, name, count, {result}, [=] __device__(auto values, std::int64_t i) {
    for (int k = 0; k < values.width; ++k) values[k] = static_cast<float>(value(activation.place(i + k)));
    values.store(result + i);
  });
}

template <class T>
void pixelShuffle(const Context& context, const PixelShuffle& p, const T* source, T* destination) {
  const std::int64_t factor = p.factor, coarseChannels = p.channels * factor * factor, height = p.height, width = p.width,
                     coarseHeight = p.coarseHeight, coarseWidth = p.coarseWidth, rowsBefore = p.rowsBefore,
                     columnsBefore = p.columnsBefore;
  const Activation fine(p.inverse ? p.sourceLayout : p.destinationLayout, p.channels, height, width),
      coarse(p.inverse ? p.destinationLayout : p.sourceLayout, coarseChannels, coarseHeight, coarseWidth);
  const Divisor byFactor(factor), bySquare(factor * factor);
  if (p.inverse)
    return forEachPlace(context, "pixelShuffle", coarse, p.batch * coarseChannels * coarseHeight * coarseWidth, destination,
                        [=] __device__(const Place& at) {
                          const Division channel = bySquare(at.channel), offset = byFactor(channel.remainder);
                          const std::int64_t y = at.row * factor + offset.quotient - rowsBefore,
                                             x = at.column * factor + offset.remainder - columnsBefore;
                          if (y < 0 || y >= height || x < 0 || x >= width) return T(0);
                          return source[fine.plane(at.image, channel.quotient) + (y * width + x) * fine.pixelStride()];
                        });
  forEachPlace(context, "pixelShuffle", fine, p.batch * p.channels * height * width, destination, [=] __device__(const Place& at) {
    const Division row = byFactor(at.row + rowsBefore), column = byFactor(at.column + columnsBefore);
    if (row.quotient >= coarseHeight || column.quotient >= coarseWidth) return T(0);
    const std::int64_t channel = (at.channel * factor + row.remainder) * factor + column.remainder;
    return source[coarse.plane(at.image, channel) + (row.quotient * coarseWidth + column.quotient) * coarse.pixelStride()];
  });
}

template <class T>
void channelShuffle(const Context& context, const ChannelGroups& s, const T* source, T* destination) {
  const Activation tile(s.layout, s.channels, s.height, s.width);
  const Divisor byGroups(s.groups);
  const std::int64_t width = s.width, groupChannels = s.channels / s.groups;
  forEachPlace(context, "channelShuffle", tile, s.batch * s.channels * s.height * s.width, destination, [=] __device__(const Place& to) {
    const Division channel = byGroups(to.channel);
    return source[tile.plane(to.image, channel.remainder * groupChannels + channel.quotient) +
                  (to.row * width + to.column) * tile.pixelStride()];
  });
}

template <class T>
void shiftChannels(const Context& context, const ShiftChannels& s, const T* source, T* destination) {
  const Activation from(s.sourceLayout, s.sourceChannels, s.height, s.width), to(s.destinationLayout, s.channels, s.height, s.width);
  const std::int64_t width = s.width, offset = s.offset, sourceChannels = s.sourceChannels;
  forEachPlace(context, "shiftChannels", to, s.batch * s.channels * s.height * s.width, destination, [=] __device__(const Place& at) {
    const std::int64_t channel = at.channel + offset;
    if (channel < 0 || channel >= sourceChannels) return T(0);
    return source[from.plane(at.image, channel) + (at.row * width + at.column) * from.pixelStride()];
  });
}

// Throws Failure where an output shows an input that is beside the tile.
template <class T>
void padForward(const Context& context, const Pad& p, const ResampledAt& at, const T* source, T* destination) {
  const PaddedAxis rows = rowsOf(p, at), columns = columnsOf(p, at);
  rows.requireInputs();
  columns.requireInputs();
  const Activation in(p.layout, p.channels, p.inHeight, p.inWidth), out(p.layout, p.channels, p.outHeight, p.outWidth);
  const std::int64_t width = p.inWidth;
  forEachPlace(context, "padForward", out, p.batch * p.channels * p.outHeight * p.outWidth, destination, [=] __device__(const Place& to) {
    const std::int64_t row = rows.shown(to.row), column = columns.shown(to.column);
    if (row == PaddedAxis::nothing || column == PaddedAxis::nothing) return T(0);
    return source[in.plane(to.image, to.channel) + (row * width + column) * in.pixelStride()];
  });
}

template <class T>
void padBackward(const Context& context, const Pad& p, const ResampledAt& at, const T* destinationGradient, T* sourceGradient) {
  const PaddedAxis rows = rowsOf(p, at), columns = columnsOf(p, at);
  const Activation in(p.layout, p.channels, p.inHeight, p.inWidth), out(p.layout, p.channels, p.outHeight, p.outWidth);
  const std::int64_t width = p.outWidth;
  forEachPlace(context, "padBackward", in, p.batch * p.channels * p.inHeight * p.inWidth, sourceGradient, [=] __device__(const Place& to) {
    const T* const from = destinationGradient + out.plane(to.image, to.channel);
    const PaddedAxis::Runs ofRow = rows.showing(to.row), ofColumn = columns.showing(to.column);
    double sum = 0;
    for (const PaddedAxis::Run& down : ofRow.runs)
      for (std::int64_t row = down.from; row < down.to; ++row)
        for (const PaddedAxis::Run& across : ofColumn.runs)
          for (std::int64_t column = across.from; column < across.to; ++column)
            sum += static_cast<double>(from[(row * width + column) * out.pixelStride()]);
    return static_cast<T>(sum);
  });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileMovement(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::pixelShuffle:
      return compiled(context,
                      [p = betweenTiles<PixelShuffle>(kernel)](const A& a) { pixelShuffle<T>(a.context, p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::channelShuffle:
      return compiled(context, [s = tiled<ChannelGroups>(kernel)](const A& a) { channelShuffle<T>(a.context, s, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::shiftChannels:
      return compiled(context,
                      [s = betweenTiles<ShiftChannels>(kernel)](const A& a) { shiftChannels<T>(a.context, s, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::padForward:
      return compiled(context,
                      [p = tiled<Pad>(kernel)](const A& a) { padForward<T>(a.context, p, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
    case KernelKind::padBackward:
      return compiled(context,
                      [p = tiled<Pad>(kernel)](const A& a) { padBackward<T>(a.context, p, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileMovement)

}  // namespace tilefold::cuda
