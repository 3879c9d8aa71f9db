// One axis of a sliding window: which outputs a tap gives to which inputs.
#pragma once
#include <algorithm>
#include <optional>

#include "../kernels/kernel_fields.hpp"

namespace tilefold::cpu {

// Outputs [begin, end) of a tap whose input lies in the tile; output p reads input p * stride +
// shift.
struct TapRange {
  std::int64_t begin, end, shift;
};

struct WindowAxis {
  std::int64_t in, out, kernel, stride, dilation, padBefore;

  TapRange range(std::int64_t tap) const {
    const std::int64_t shift = tap * dilation - padBefore;
    const std::int64_t begin = shift < 0 ? (-shift + stride - 1) / stride : 0;
    const std::int64_t end = shift < in ? (in - 1 - shift) / stride + 1 : 0;
    return {std::min(begin, out), std::max(std::min(begin, out), std::min(end, out)), shift};
  }
  std::optional<std::int64_t> input(std::int64_t output, std::int64_t tap) const {
    const std::int64_t position = output * stride + tap * dilation - padBefore;
    return position >= 0 && position < in ? std::optional(position) : std::nullopt;
  }
  std::optional<std::int64_t> output(std::int64_t input, std::int64_t tap) const {
    const std::int64_t position = input + padBefore - tap * dilation;
    return position >= 0 && position % stride == 0 && position / stride < out ? std::optional(position / stride) : std::nullopt;
  }
};

inline WindowAxis rowsOf(const Window& w) { return {w.inHeight, w.outHeight, w.kernelHeight, w.strideHeight, w.dilationHeight, w.padTop}; }
inline WindowAxis columnsOf(const Window& w) { return {w.inWidth, w.outWidth, w.kernelWidth, w.strideWidth, w.dilationWidth, w.padLeft}; }

}  // namespace tilefold::cpu
