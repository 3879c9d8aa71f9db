// One axis of a sliding window: which outputs a tap gives to which inputs.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "../../kernels/kernel_fields.hpp"

namespace tilefold::cpu {

// Outputs [begin, end) of a tap whose input lies in the tile; output p reads input p * stride +
// shift.
struct TapRange {
  std::int64_t begin, end, shift;
};

struct WindowAxis {
  std::int64_t in, out, kernel, stride, dilation, padBefore;

  // Whether each input meets one output alone, and the other way round.
  bool isPointwise() const { return kernel == 1 && stride == 1 && padBefore == 0 && in == out; }
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

// Makes one row of all, where pixels meet no others (1 x 1 kernels without strides or padding);
// tells whether it did.
inline bool joinRows(WindowAxis& rows, WindowAxis& columns) {
  if (!rows.isPointwise() || !columns.isPointwise()) return false;
  columns.in = columns.out = rows.in * columns.in;
  rows.in = rows.out = 1;
  return true;
}

// A window, and the place in it, counted in taps.
struct WindowPlace {
  std::int64_t output, tap;
};

// Of every input of an axis the windows that hold it. Belongs to a WindowsOfInputs.
struct WindowPlaces {
  const WindowPlace* places;
  const std::size_t* ends;
  std::int64_t count;  // of inputs
  const WindowPlace* first(std::int64_t input) const { return places + (input == 0 ? 0 : ends[input - 1]); }
  const WindowPlace* end(std::int64_t input) const { return places + ends[input]; }
};

class WindowsOfInputs {
 public:
  explicit WindowsOfInputs(const WindowAxis& axis) {
    for (std::int64_t input = 0; input < axis.in; ++input) {
      for (std::int64_t tap = axis.kernel - 1; tap >= 0; --tap)
        if (const std::optional<std::int64_t> output = axis.output(input, tap)) places_.push_back({*output, tap});
      ends_.push_back(places_.size());
    }
  }
  WindowPlaces all() const { return {places_.data(), ends_.data(), static_cast<std::int64_t>(ends_.size())}; }

 private:
  std::vector<WindowPlace> places_;
  std::vector<std::size_t> ends_;
};

inline WindowAxis rowsOf(const Window& w) { return {w.inHeight, w.outHeight, w.kernelHeight, w.strideHeight, w.dilationHeight, w.padTop}; }
inline WindowAxis columnsOf(const Window& w) { return {w.inWidth, w.outWidth, w.kernelWidth, w.strideWidth, w.dilationWidth, w.padLeft}; }

}  // namespace tilefold::cpu
