// Where the elements of an activation lie, plain or nhwc.
#pragma once
#include "../../kernels/layout.hpp"
#include "divisor.cuh"

namespace tilefold::cuda {

struct Place {
  std::int64_t image, channel, row, column;
};

class Activation {
 public:
  // Without channels to tell apart, nhwc is plain.
  Activation(Layout layout, std::int64_t channels, std::int64_t height, std::int64_t width)
      : channelsLast_(layout == Layout::nhwc && channels > 1),
        channels_(channels),
        pixels_(height * width),
        inner_(channelsLast_ ? channels : width),
        middle_(channelsLast_ ? width : height),
        outer_(channelsLast_ ? height : channels) {}

  bool channelsLast() const { return channelsLast_; }

  __device__ Place place(std::int64_t element) const {
    const Division inner = inner_(element), middle = middle_(inner.quotient), outer = outer_(middle.quotient);
    if (channelsLast_) return {outer.quotient, inner.remainder, outer.remainder, middle.remainder};
    return {outer.quotient, outer.remainder, middle.remainder, inner.remainder};
  }

  // The first pixel of a channel, and how far the next one is.
  __device__ std::int64_t plane(std::int64_t image, std::int64_t channel) const {
    return channelsLast_ ? image * pixels_ * channels_ + channel : (image * channels_ + channel) * pixels_;
  }
  __device__ std::int64_t pixelStride() const { return channelsLast_ ? channels_ : 1; }

 private:
  bool channelsLast_;
  std::int64_t channels_, pixels_;
  Divisor inner_, middle_, outer_;
};

}  // namespace tilefold::cuda
