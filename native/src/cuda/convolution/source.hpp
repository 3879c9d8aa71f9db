// What cuDNN reads as a convolution's source, or writes as its gradient.
#pragma once
#include <optional>

#include "../../kernels/kernel_fields.hpp"
#include "pad.hpp"

namespace tilefold::cuda {

// One axis: its extent, the padding on either side, and where the operand begins in it.
struct SourceAxis {
  std::int64_t extent, before, after, origin;
};

// A copy where that is not the operand itself: cuDNN wants source and destination in one layout.
struct ConvolutionSource {
  SourceAxis rows, columns;
  std::optional<PadBox> copy;
};

// By axisOf(in, out, kernel, stride, dilation, padding before) of what an interface of cuDNN takes.
template <class AxisOf>
ConvolutionSource sourceOf(const Convolution& c, const AxisOf& axisOf) {
  const SourceAxis rows = axisOf(c.inHeight, c.outHeight, c.kernelHeight, c.strideHeight, c.dilationHeight, c.padTop);
  const SourceAxis columns = axisOf(c.inWidth, c.outWidth, c.kernelWidth, c.strideWidth, c.dilationWidth, c.padLeft);
  const bool same = rows.extent == c.inHeight && columns.extent == c.inWidth && rows.origin == 0 && columns.origin == 0;
  if (same && c.sourceLayout == c.destinationLayout) return {rows, columns, std::nullopt};
  return {rows, columns,
          PadBox{c.sourceLayout, c.destinationLayout, c.batch, c.inChannels, c.inHeight, c.inWidth, rows.extent, columns.extent,
                 rows.origin, columns.origin}};
}

}  // namespace tilefold::cuda
