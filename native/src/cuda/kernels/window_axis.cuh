// One axis of a sliding window over a padded input.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "divisor.cuh"

namespace tilefold::cuda {

// From `from` to before `to`.
struct Range {
  std::int64_t from, to;
};

class WindowAxis {
 public:
  WindowAxis(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t padBefore)
      : in_(in),
        out_(out),
        kernel_(kernel),
        stride_(stride),
        dilation_(dilation),
        padBefore_(padBefore),
        byStride_(stride),
        byDilation_(dilation) {}

  static WindowAxis rows(const Window& w) { return {w.inHeight, w.outHeight, w.kernelHeight, w.strideHeight, w.dilationHeight, w.padTop}; }
  static WindowAxis columns(const Window& w) { return {w.inWidth, w.outWidth, w.kernelWidth, w.strideWidth, w.dilationWidth, w.padLeft}; }

  // Where the window of an output begins; negative in the padding.
  __device__ std::int64_t start(std::int64_t output) const { return output * stride_ - padBefore_; }
  __device__ std::int64_t dilation() const { return dilation_; }

  // The places of a window that begins at `start` which lie inside the input.
  __device__ Range inside(std::int64_t start) const {
    const std::int64_t last = start >= in_ ? 0 : byDilation(in_ - 1 - start).quotient + 1;
    return {start >= 0 ? 0 : byDilation(-start + dilation_ - 1).quotient, last < kernel_ ? last : kernel_};
  }

  // The outputs whose windows begin at or before an input coordinate and end behind it; with
  // dilation, some of them skip it.
  __device__ Range over(std::int64_t input) const {
    const std::int64_t end = input + padBefore_, reach = (kernel_ - 1) * dilation_ + 1, last = byStride_(end).quotient + 1;
    return {end < reach ? 0 : byStride_(end - reach).quotient + 1, last < out_ ? last : out_};
  }

  // The place of a window, `over` an input coordinate, at which it has that: between two places
  // where there is a remainder.
  __device__ Division placeIn(std::int64_t output, std::int64_t input) const { return byDilation(input - start(output)); }

 private:
  // Most windows have none to divide by.
  __device__ Division byDilation(std::int64_t distance) const { return dilation_ == 1 ? Division{distance, 0} : byDilation_(distance); }

  std::int64_t in_, out_, kernel_, stride_, dilation_, padBefore_;
  Divisor byStride_, byDilation_;
};

}  // namespace tilefold::cuda
