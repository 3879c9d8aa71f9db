// How gradients of weights that pack their pixels walk over both sides, in blocks of 16 channels:
// strip after strip of an image, of which threads sum different blocks.
#pragma once
#include <limits>

#include "parallel.hpp"
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

// One strip of an image: where it begins, and how much of it there is.
struct GradientStrip {
  std::int64_t image, top, left, height, width;
  bool isFirst;
};

struct GradientStrips {
  GradientAxes axes;
  std::int64_t inBlocks, outBlocks, inParts = 1, outParts = 1;  // which threads share
  std::int64_t height = 1, width = 1;
  std::int64_t rowStep = 1;  // packed, of the source, from the rows of one tap to those of the one below it

  explicit GradientStrips(const Convolution& c)
      : axes(c), inBlocks(ceilDivide(c.inChannels, GradientAxes::lanes)), outBlocks(ceilDivide(c.outChannels, GradientAxes::lanes)) {}

  std::int64_t jobs() const { return inParts * outParts; }
  Share insOf(std::int64_t job) const { return shareOf(inBlocks, job % inParts, inParts); }
  Share outsOf(std::int64_t job) const { return shareOf(outBlocks, job / inParts, outParts); }
  // Packed, of the source, by so many rows of the gradient: what lies between two taps is left out.
  std::int64_t rowsRead(std::int64_t count) const { return (count - 1) * axes.rows.stride + (axes.rows.kernel - 1) * rowStep + 1; }
  std::int64_t sourceRow(std::int64_t packed) const { return packed / rowStep * axes.rows.dilation + packed % rowStep; }
  // Strides may step over rows.
  bool isRead(std::int64_t row) const {
    for (std::int64_t tap = 0; tap < axes.rows.kernel; ++tap)
      if ((row - tap * rowStep) % axes.rows.stride == 0) return true;
    return false;
  }

  template <class Visit>
  void forStrips(const Visit& visit) const {
    const WindowAxis &rows = axes.rows, &columns = axes.columns;
    for (std::int64_t image = 0; image < axes.images; ++image)
      for (std::int64_t top = 0; top < rows.out; top += height)
        for (std::int64_t left = 0; left < columns.out; left += width)
          visit(GradientStrip{image, top, left, std::min(height, rows.out - top), std::min(width, columns.out - left),
                              image + top + left == 0});
  }

 protected:
  // So that the thread with the most to do has the least, in cycles(ins, outs) of so many blocks:
  // products, and what it packs.
  template <class Cycles>
  void share(int threads, const Cycles& cycles) {
    double least = std::numeric_limits<double>::infinity();
    for (std::int64_t parts = 1; parts <= std::min<std::int64_t>(threads, inBlocks); ++parts) {
      const std::int64_t others = std::min(threads / parts, outBlocks);
      const double most = cycles(static_cast<double>(ceilDivide(inBlocks, parts)), static_cast<double>(ceilDivide(outBlocks, others)));
      if (most >= least) continue;
      least = most;
      inParts = parts;
      outParts = others;
    }
  }
};

}  // namespace tilefold::cpu
