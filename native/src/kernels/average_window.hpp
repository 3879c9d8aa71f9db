// Which inputs an output of an average pool is made of along one axis, and what their sum is
// divided by.
#pragma once
#include <algorithm>

#include "kernel_fields.hpp"

namespace tilefold {

// Inputs from .. to - 1, none where from = to; `size` as countPadding has it.
struct AverageWindow {
  std::int64_t from, to, size;
  double share() const { return size > 0 ? 1.0 / static_cast<double>(size) : 0.0; }
};

// `countedPadAfter`: without the overhang of ceilMode.
struct AverageAxis {
  std::int64_t out, stride, kernel, in, padBefore, countedPadAfter;
  bool countPadding;

  AverageWindow window(std::int64_t output) const {
    const std::int64_t start = output * stride - padBefore, end = start + kernel;
    const std::int64_t from = std::clamp<std::int64_t>(start, 0, in), to = std::max(from, std::min(end, in));
    return {from, to, countPadding ? std::min(end, in + countedPadAfter) - start : to - from};
  }
};

inline AverageAxis averageRows(const AveragePool& p) {
  return {p.outHeight, p.strideHeight, p.kernelHeight, p.inHeight, p.padTop, p.padBottom - p.overhangBottom, p.countPadding};
}

inline AverageAxis averageColumns(const AveragePool& p) {
  return {p.outWidth, p.strideWidth, p.kernelWidth, p.inWidth, p.padLeft, p.padRight - p.overhangRight, p.countPadding};
}

}  // namespace tilefold
