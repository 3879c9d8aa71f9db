// Which inputs the outputs of a padding show along one axis of the whole tensors, and which outputs
// show an input.
#pragma once
#include <algorithm>
#include <string>

#include "host_device.hpp"
#include "kernel_fields.hpp"
#include "resampling.hpp"

namespace tilefold {

enum class Padding { zeros, reflect, replicate };

// An axis of the whole tensors, and the tiles of it that a launch has: input coordinates from
// `source` on, outputs from `destination` on.
struct PaddedAxis {
  Padding mode;
  std::int64_t fullIn, fullOut, before, source, in, destination, out;

  static constexpr std::int64_t nothing = -1;
  // The input that an output of the tile shows, relative to the input's tile; `nothing` where that
  // is a zero.
  TILEFOLD_HOST_DEVICE std::int64_t shown(std::int64_t output) const {
    const std::int64_t i = destination + output - before;
    if (i >= 0 && i < fullIn) return i - source;
    if (mode == Padding::zeros) return nothing;
    if (mode == Padding::reflect) return (i < 0 ? -i : 2 * (fullIn - 1) - i) - source;
    return (i < 0 ? 0 : fullIn - 1) - source;
  }

  // Outputs from .. to - 1 of the tile; none where from >= to.
  struct Run {
    std::int64_t from, to;
  };
  struct Runs {
    Run runs[3];
  };
  // The outputs of the tile that show an input of the tile: its own place, and the padding before
  // and after.
  TILEFOLD_HOST_DEVICE Runs showing(std::int64_t input) const {
    const std::int64_t i = source + input, last = fullIn - 1;
    const Run own = tiled(before + i, before + i + 1);
    if (mode == Padding::zeros) return {{own, {0, 0}, {0, 0}}};
    if (mode == Padding::reflect)
      return {{i > 0 ? tiled(before - i, before - i + 1) : Run{0, 0}, own,
               i < last ? tiled(before + 2 * last - i, before + 2 * last - i + 1) : Run{0, 0}}};
    return {{i == 0 ? tiled(0, before) : Run{0, 0}, own, i == last ? tiled(before + fullIn, fullOut) : Run{0, 0}}};
  }

  // The first output of the tile that shows an input beside the input's tile; `out` where none
  // does.
  std::int64_t firstBeside() const {
    for (std::int64_t o = 0; o < out; ++o) {
      const std::int64_t i = shown(o), absolute = destination + o - before;
      if (mode == Padding::zeros && (absolute < 0 || absolute >= fullIn)) continue;
      if (i < 0 || i >= in) return o;
    }
    return out;
  }
  // Throws Failure where there is one.
  void requireInputs() const {
    const std::int64_t o = firstBeside();
    if (o < out)
      throw Failure("output " + std::to_string(destination + o) + " shows input " + std::to_string(source + shown(o)) +
                    ", but the tile holds " + std::to_string(source) + " .. " + std::to_string(source + in - 1) +
                    ": stage the program again");
  }

  // The same with tiles of these extents where outputs find what they show, if there is such a
  // place: at the start, at the end, or between.
  PaddedAxis somewhere() const {
    PaddedAxis start = *this, end = *this, between = *this;
    start.source = start.destination = between.source = 0;
    end.source = fullIn - in;
    end.destination = fullOut - out;
    between.destination = std::min(before, fullOut - out);
    for (const PaddedAxis& axis : {start, end, between})
      if (axis.firstBeside() == out) return axis;
    return *this;
  }

 private:
  TILEFOLD_HOST_DEVICE Run tiled(std::int64_t from, std::int64_t to) const {
    const std::int64_t begin = from - destination, end = to - destination;
    return {begin > 0 ? begin : 0, end < out ? end : out};
  }
};

inline PaddedAxis rowsOf(const Pad& p, const ResampledAt& at) {
  return {static_cast<Padding>(p.mode), p.fullInHeight, p.fullOutHeight, p.padTop, at.sourceRow, p.inHeight, at.destinationRow,
          p.outHeight};
}
inline PaddedAxis columnsOf(const Pad& p, const ResampledAt& at) {
  return {static_cast<Padding>(p.mode), p.fullInWidth, p.fullOutWidth, p.padLeft, at.sourceColumn, p.inWidth, at.destinationColumn,
          p.outWidth};
}

}  // namespace tilefold
