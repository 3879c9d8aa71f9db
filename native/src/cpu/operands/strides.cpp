#include "strides.hpp"

namespace tilefold::cpu {

WeightStrides weightStrides(Layout layout, std::int64_t outChannels, std::int64_t inChannels, std::int64_t groups, std::int64_t taps) {
  const LayoutInfo& info = layoutInfo(layout);
  const std::int64_t outs = roundUp(outChannels / groups, info.out), ins = roundUp(inChannels / groups, info.in);
  WeightStrides s;
  s.elements = roundUp(groups, info.groups) * outs * ins * taps;
  s.group = {1, outs * ins * taps, 0};
  switch (layout) {
    case Layout::plain:
      s.out = {1, ins * taps, 0};
      s.in = {1, taps, 0};
      s.tapStride = 1;
      return s;
    case Layout::OIhw8i8o:
    case Layout::OIhw16i16o:
      s.out = {info.out, ins * taps * info.out, 1};
      s.in = {info.in, taps * info.in * info.out, info.out};
      s.tapStride = info.in * info.out;
      return s;
    case Layout::OIhw8o8i:
    case Layout::OIhw16o16i:
      s.out = {info.out, ins * taps * info.out, info.in};
      s.in = {info.in, taps * info.in * info.out, 1};
      s.tapStride = info.in * info.out;
      return s;
    case Layout::IOhw8o8i:
    case Layout::IOhw16o16i:
      s.out = {info.out, taps * info.in * info.out, info.in};
      s.in = {info.in, outs * taps * info.in, 1};
      s.tapStride = info.in * info.out;
      return s;
    case Layout::Ohwi8o:
    case Layout::Ohwi16o:
      s.out = {info.out, ins * taps * info.out, 1};
      s.in = {1, info.out, 0};
      s.tapStride = ins * info.out;
      return s;
    case Layout::Goihw8g:
    case Layout::Goihw16g:
      s.group = {info.groups, outs * ins * taps * info.groups, 1};
      s.out = {1, ins * taps * info.groups, 0};
      s.in = {1, taps * info.groups, 0};
      s.tapStride = info.groups;
      return s;
    case Layout::OIhw8i16o2i:
    case Layout::OIhw16i16o2i:
      s.out = {info.out, ins * taps * info.out, 2};
      s.in = {info.in, taps * info.in * info.out, 2 * info.out, 2};
      s.tapStride = info.in * info.out;
      return s;
    case Layout::OIhw8o16i2o:
      s.out = {info.out, ins * taps * info.out, 2 * info.in, 2};
      s.in = {info.in, taps * info.in * info.out, 2};
      s.tapStride = info.in * info.out;
      return s;
    case Layout::IOhw8o16i2o:
    case Layout::IOhw16o16i2o:
      s.out = {info.out, taps * info.in * info.out, 2 * info.in, 2};
      s.in = {info.in, outs * taps * info.in, 2};
      s.tapStride = info.in * info.out;
      return s;
    case Layout::Ohwi16o2i:
      s.out = {info.out, ins * taps * info.out, 2};
      s.in = {ins, 0, 2 * info.out, 2};
      s.tapStride = ins * info.out;
      return s;
    case Layout::nChw8c:
    case Layout::nChw16c:
    case Layout::nhwc:
      break;
    case Layout::ohwi:
      throw Failure("the cpu device has no weights in layout ohwi");
    case Layout::winogradForward:
    case Layout::winogradBackward:
    case Layout::winograd6Forward:
    case Layout::winograd6Backward:
      throw Failure(std::string(info.name) + " holds no taps, so only algorithm 1 reads it");
  }
  throw Failure(std::string(info.name) + " is no layout of weights");
}

ActivationStrides activationStrides(Layout layout, std::int64_t channels, std::int64_t height, std::int64_t width, std::int64_t block) {
  const std::int64_t plane = height * width;
  if (layout == Layout::plain) return {channels, block, channels * plane, block * plane, plane, width, 1};
  const std::int64_t own = channelBlock(layout);
  if (own != block)
    throw Failure("activations in layout " + std::string(layoutInfo(layout).name) + " are read in blocks of " + std::to_string(block));
  return {channels, block, roundUp(channels, own) * plane, block * plane, 1, block * width, block};
}

}  // namespace tilefold::cpu
