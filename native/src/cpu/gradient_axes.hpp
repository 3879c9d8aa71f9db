// How a gradient of weights walks over the pixels of both sides, in blocks of 16 channels.
#pragma once
#include "strides.hpp"
#include "window_axis.hpp"

namespace tilefold::cpu {

// The pixels of one side: how far apart its images, blocks of channels and rows are.
struct PixelsApart {
  std::int64_t image, block, row;
};

// A convolution's images and axes. Pixels that meet no others (1 x 1 kernels without strides) are
// one row an image, and all images one.
struct GradientAxes {
  static constexpr std::int64_t lanes = 16;  // channels of a block

  std::int64_t images;
  WindowAxis rows, columns;
  PixelsApart source, gradient;

  explicit GradientAxes(const Convolution& c) : images(c.batch), rows(rowsOf(c)), columns(columnsOf(c)) {
    const bool isFlat = rows.isPointwise() && columns.isPointwise();
    if (isFlat) {
      columns.in = columns.out = rows.in * columns.in;
      rows.in = rows.out = 1;
    }
    source = dense(rows.in, columns.in, ceilDivide(c.inChannels, lanes));
    gradient = dense(rows.out, columns.out, ceilDivide(c.outChannels, lanes));
    if (!isFlat) return;
    rows.in = rows.out = images;
    images = 1;
    source.row = source.image;
    gradient.row = gradient.image;
  }

 private:
  static PixelsApart dense(std::int64_t height, std::int64_t width, std::int64_t blocks) {
    const std::int64_t row = width * lanes;
    return {blocks * height * row, height * row, row};
  }
};

}  // namespace tilefold::cpu
