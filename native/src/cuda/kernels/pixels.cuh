// The pixels of a tile, their scores and their labels.
#pragma once
#include "../context/fault.cuh"
#include "activation.cuh"

namespace tilefold::cuda {

// Where the scores of a tile's pixels and their classes are; pixels of all images are counted in
// one go.
class Pixels {
 public:
  explicit Pixels(const PlacedTile& t)
      : tile_(t.layout, t.channels, t.height, t.width),
        count_(t.batch * t.height * t.width),
        channels_(t.channels),
        pixels_(t.height * t.width),
        fullHeight_(t.fullHeight),
        fullWidth_(t.fullWidth),
        byPixels_(pixels_),
        byWidth_(t.width) {}

  bool channelsLast() const { return tile_.channelsLast(); }
  __host__ __device__ std::int64_t count() const { return count_; }
  __host__ __device__ std::int64_t channels() const { return channels_; }
  __device__ std::int64_t channelStride() const { return tile_.pixelStride() == 1 ? pixels_ : 1; }

  struct Offsets {
    std::int64_t scores, classes;
  };
  __device__ Offsets operator()(std::int64_t pixel) const {
    const Division image = byPixels_(pixel), row = byWidth_(image.remainder);
    return {tile_.plane(image.quotient, 0) + image.remainder * tile_.pixelStride(),
            (image.quotient * fullHeight_ + row.quotient) * fullWidth_ + row.remainder};
  }

 private:
  Activation tile_;
  std::int64_t count_, channels_, pixels_, fullHeight_, fullWidth_;
  Divisor byPixels_, byWidth_;
};

constexpr std::int32_t uncounted = -1;

struct Labels {
  const std::int32_t* labels;
  const float* classWeights;
  std::int64_t classes, ignored;
  Fault* fault;

  // Of a pixel that counts its class. A wrong label is recorded and does not count. Read once: what
  // was checked is what is used.
  __device__ std::int32_t at(std::int64_t offset) const {
    const std::int32_t label = *static_cast<const volatile std::int32_t*>(labels + offset);
    if (label == ignored) return uncounted;
    if (label >= 0 && label < classes) return label;
    recordFault(fault, {static_cast<std::int32_t>(FaultKind::pixelLabel), 0, 0, label, classes, ignored});
    return uncounted;
  }
  __device__ double weight(std::int32_t label) const {
    return label == uncounted ? 0 : classWeights == nullptr ? 1 : static_cast<double>(classWeights[label]);
  }
};

}  // namespace tilefold::cuda
