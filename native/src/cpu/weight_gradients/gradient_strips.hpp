// How gradients of weights walk over both sides, in blocks of 16 channels: strip after strip of an
// image, of which threads sum different blocks. What is packed is of those that pack their pixels.
#pragma once
#include <limits>

#include "../operands/launch.hpp"
#include "../operands/strides.hpp"
#include "../operands/window_axis.hpp"
#include "../pointwise/bias.hpp"
#include "../processor/parallel.hpp"

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
    const bool isFlat = joinRows(rows, columns);
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

// The strips of all images.
struct ImageStrips {
  GradientAxes axes;
  std::int64_t inBlocks, outBlocks;
  std::int64_t height = 1, width = 1;

  explicit ImageStrips(const Convolution& c)
      : axes(c), inBlocks(ceilDivide(c.inChannels, GradientAxes::lanes)), outBlocks(ceilDivide(c.outChannels, GradientAxes::lanes)) {}

  std::int64_t count() const { return axes.images * down() * across(); }
  GradientStrip strip(std::int64_t index) const {
    const std::int64_t image = index / (down() * across());
    const std::int64_t top = index / across() % down() * height, left = index % across() * width;
    return {image, top, left, std::min(height, axes.rows.out - top), std::min(width, axes.columns.out - left), index == 0};
  }

 private:
  std::int64_t down() const { return ceilDivide(axes.rows.out, height); }
  std::int64_t across() const { return ceilDivide(axes.columns.out, width); }
};

struct GradientStrips : ImageStrips {
  std::int64_t inParts = 1, outParts = 1;  // of the blocks, which threads share
  // Packed: of the source, from the rows of one tap to those of the one below it; elements of a
  // block of it, and blocks at once; elements of the gradient.
  std::int64_t rowStep = 1, sourceBlock = 0, sourceBlocks = 0, gradientElements = 0;

  using ImageStrips::ImageStrips;

  std::int64_t jobs() const { return inParts * outParts; }
  std::int64_t jobElements() const { return checkedAdd(gradientElements, checkedMultiply(sourceBlocks, sourceBlock)); }
  std::size_t scratchBytes() const {
    return static_cast<std::size_t>(checkedMultiply(checkedMultiply(jobs(), jobElements()), sizeof(Bfloat16)));
  }
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
    for (std::int64_t index = 0; index < count(); ++index) visit(strip(index));
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

// What one thread sums, and where: the blocks of both sides, and its part of the scratch.
class GradientJob {
 public:
  GradientJob(const GradientStrips& strips, std::int64_t index, const std::vector<Operand>& operands)
      : ins_(strips.insOf(index)),
        outs_(strips.outsOf(index)),
        weightGradient_(elements(operands, 2)),
        packedGradient_(elements<Bfloat16>(operands, 4) + index * strips.jobElements()),
        packedSource_(packedGradient_ + strips.gradientElements),
        strips_(strips),
        source_(elements<const Bfloat16>(operands, 0)),
        gradient_(elements<const Bfloat16>(operands, 1)) {}

 protected:
  // visit(first pixel, where it is packed) of each row of a strip of the gradient.
  template <class Visit>
  void forGradientRows(const GradientStrip& strip, std::int64_t rowElements, const Visit& visit) const {
    const PixelsApart& apart = strips_.axes.gradient;
    for (std::int64_t out = outs_.begin; out < outs_.end; ++out)
      for (std::int64_t y = 0; y < strip.height; ++y)
        visit(gradient_ + strip.image * apart.image + out * apart.block + (strip.top + y) * apart.row + strip.left * GradientAxes::lanes,
              packedGradient_ + ((out - outs_.begin) * strips_.height + y) * rowElements);
  }

  // visit(packed row, the image's first pixel in it) of each row of a block of the source that a
  // strip reads.
  template <class Visit>
  void forSourceRows(const GradientStrip& strip, std::int64_t in, const Visit& visit) const {
    const WindowAxis& rows = strips_.axes.rows;
    const PixelsApart& apart = strips_.axes.source;
    const std::int64_t first = strip.top * rows.stride - rows.padBefore, count = strips_.rowsRead(strip.height);
    for (std::int64_t row = 0; row < count; ++row) {
      const std::int64_t sourceRow = first + strips_.sourceRow(row);
      if (sourceRow < 0 || sourceRow >= rows.in || !strips_.isRead(row)) continue;
      visit(row, source_ + strip.image * apart.image + in * apart.block + sourceRow * apart.row);
    }
  }

  // pack(in, where) of the blocks of the source that are packed at once, then sum(ins), until all
  // are.
  template <class Pack, class Sum>
  void forSources(const Pack& pack, const Sum& sum) const {
    for (std::int64_t first = ins_.begin; first < ins_.end; first += strips_.sourceBlocks) {
      const Share ins{first, std::min(first + strips_.sourceBlocks, ins_.end)};
      for (std::int64_t in = ins.begin; in < ins.end; ++in) pack(in, packedSource_ + (in - first) * strips_.sourceBlock);
      sum(ins);
    }
  }

  Share ins_, outs_;
  float* weightGradient_;
  Bfloat16 *packedGradient_, *packedSource_;

 private:
  const GradientStrips& strips_;
  const Bfloat16 *source_, *gradient_;
};

// Launches Job(strips, index, operands).run() for all jobs; then the bias, where there is one.
template <class Job, class Strips>
Launch launchGradientJobs(const Convolution& c, const Strips& strips) {
  const Launch biasGradient = sumBiasOf<Bfloat16>(c);
  return [=](const std::vector<Operand>& operands, const StepParameters& step) {
    parallelFor(strips.jobs(), [&](std::int64_t index) { Job(strips, index, operands).run(); });
    if (operands[3].address != nullptr) biasGradient({operands[1], operands[3]}, step);
  };
}

}  // namespace tilefold::cpu
