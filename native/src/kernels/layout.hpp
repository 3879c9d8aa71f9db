// Memory layouts of tensors, in the order of staging/kernels/layout.ts (a layout's position is its
// code), and the elements each takes.
#pragma once
#include <array>
#include <cstdint>

#include "../failure.hpp"

namespace tilefold {

enum class Layout : int {
  plain,
  nChw8c,
  nChw16c,
  OIhw8i8o,
  OIhw16i16o,
  OIhw8o8i,
  OIhw16o16i,
  IOhw8o8i,
  IOhw16o16i,
  Ohwi8o,
  Ohwi16o,
  Goihw8g,
  Goihw16g,
  winogradForward,
  winogradBackward,
  nhwc,
  ohwi,
  OIhw8i16o2i,
  OIhw8o16i2o,
  IOhw8o16i2o,
  Ohwi16o2i,
  OIhw16i16o2i,
  IOhw16o16i2o,
  winograd6Forward,
  winograd6Backward
};

struct LayoutInfo {
  const char* name;
  bool activation, weights;                // what it is legal for; plain serves both
  std::int64_t channels, out, in, groups;  // padded up to these multiples
  std::int64_t positions = 0;              // of a pair of channels transformed for Winograd; else 0
  bool transformed() const { return positions != 0; }
};

constexpr std::array<LayoutInfo, 25> layouts{{
    {"plain", true, true, 1, 1, 1, 1},
    {"nChw8c", true, false, 8, 1, 1, 1},
    {"nChw16c", true, false, 16, 1, 1, 1},
    {"OIhw8i8o", false, true, 1, 8, 8, 1},
    {"OIhw16i16o", false, true, 1, 16, 16, 1},
    {"OIhw8o8i", false, true, 1, 8, 8, 1},
    {"OIhw16o16i", false, true, 1, 16, 16, 1},
    {"IOhw8o8i", false, true, 1, 8, 8, 1},
    {"IOhw16o16i", false, true, 1, 16, 16, 1},
    {"Ohwi8o", false, true, 1, 8, 1, 1},
    {"Ohwi16o", false, true, 1, 16, 1, 1},
    {"Goihw8g", false, true, 1, 1, 1, 8},
    {"Goihw16g", false, true, 1, 1, 1, 16},
    {"winogradForward", false, true, 1, 16, 16, 1, 36},
    {"winogradBackward", false, true, 1, 16, 16, 1, 36},
    {"nhwc", true, false, 1, 1, 1, 1},
    {"ohwi", false, true, 1, 1, 1, 1},
    {"OIhw8i16o2i", false, true, 1, 16, 16, 1},
    {"OIhw8o16i2o", false, true, 1, 16, 16, 1},
    {"IOhw8o16i2o", false, true, 1, 16, 16, 1},
    {"Ohwi16o2i", false, true, 1, 16, 2, 1},
    {"OIhw16i16o2i", false, true, 1, 16, 32, 1},
    {"IOhw16o16i2o", false, true, 1, 32, 16, 1},
    {"winograd6Forward", false, true, 1, 16, 16, 1, 64},
    {"winograd6Backward", false, true, 1, 16, 16, 1, 64},
}};

inline const LayoutInfo& layoutInfo(Layout layout) { return layouts[static_cast<std::size_t>(layout)]; }

inline std::int64_t ceilDivide(std::int64_t value, std::int64_t by) { return checkedAdd(value, by - 1) / by; }

inline std::int64_t roundUp(std::int64_t value, std::int64_t multiple) { return checkedMultiply(ceilDivide(value, multiple), multiple); }

// Channels that lie next to each other in an activation's layout (1 when plain); of nhwc, all that
// there are.
inline std::int64_t channelBlock(Layout layout) { return layoutInfo(layout).channels; }
inline std::int64_t channelBlock(Layout layout, std::int64_t channels) { return layout == Layout::nhwc ? channels : channelBlock(layout); }

// Elements of an activation [batch, channels, height, width], channels padded to the layout's
// block.
inline std::int64_t activationElements(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t height, std::int64_t width) {
  return checkedMultiply(checkedMultiply(batch, roundUp(channels, channelBlock(layout))), checkedMultiply(height, width));
}

// Elements of convolution weights: `groups` matrices of [out / groups, inPerGroup, kh, kw], each
// padded to the layout's blocks.
inline std::int64_t weightElements(Layout layout, std::int64_t out, std::int64_t inPerGroup, std::int64_t kernelHeight,
                                   std::int64_t kernelWidth, std::int64_t groups) {
  const LayoutInfo& info = layoutInfo(layout);
  const std::int64_t matrix = checkedMultiply(roundUp(out / groups, info.out), roundUp(inPerGroup, info.in));
  const std::int64_t elements = info.transformed() ? info.positions : checkedMultiply(kernelHeight, kernelWidth);
  return checkedMultiply(checkedMultiply(roundUp(groups, info.groups), matrix), elements);
}

}  // namespace tilefold
