// The two activations of a convolution, by their part in it.
#pragma once
#include <optional>

#include "channel_pairs.hpp"
#include "strides.hpp"
#include "window_axis.hpp"

namespace tilefold::cpu {

// Forward: the result is the destination, the operand the source. Backward data: the other way
// round, and taps go back.
struct Sides {
  ActivationStrides result, operand;
  WindowAxis rows, columns;
  bool forward;

  std::int64_t resultHeight() const { return forward ? rows.out : rows.in; }
  std::int64_t resultWidth() const { return forward ? columns.out : columns.in; }
  std::int64_t operandWidth() const { return forward ? columns.in : columns.out; }
  std::optional<std::int64_t> operandRow(std::int64_t resultRow, std::int64_t tap) const {
    return forward ? rows.input(resultRow, tap) : rows.output(resultRow, tap);
  }
};

inline std::int64_t blockOf(const Convolution& c) {
  if (c.destinationLayout == Layout::plain) throw Failure("this device has no convolution with a destination in layout plain");
  return channelBlock(c.destinationLayout);
}

inline ActivationStrides sourceOf(const Convolution& c) {
  return activationStrides(c.sourceLayout, c.inChannels, c.inHeight, c.inWidth, blockOf(c));
}

inline ActivationStrides destinationOf(const Convolution& c) {
  return activationStrides(c.destinationLayout, c.outChannels, c.outHeight, c.outWidth, blockOf(c));
}

inline Sides sidesOf(const Convolution& c, bool forward) {
  return {forward ? destinationOf(c) : sourceOf(c), forward ? sourceOf(c) : destinationOf(c), rowsOf(c), columnsOf(c), forward};
}

}  // namespace tilefold::cpu
