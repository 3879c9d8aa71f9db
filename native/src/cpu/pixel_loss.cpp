#include "pixel_loss.hpp"

#include <cmath>

#include "../kernels/pixel_labels.hpp"
#include "../reference/block_loop.hpp"
#include "parallel.hpp"
#include "pixel_loops.hpp"

namespace tilefold::cpu {
namespace {

using reference::Planes;

// Where the pixels of a row begin; rows of all images are counted in one go.
struct Rows {
  explicit Rows(const Tile& t) : planes(reference::planesOf(t)), height(t.height), width(t.width), count(t.batch * t.height) {}
  std::int64_t at(std::int64_t row) const { return (row / height * planes.blocks * height + row % height) * width * planes.block; }
  std::int64_t blockStride() const { return height * width * planes.block; }
  Planes planes;
  std::int64_t height, width, count;
};

double weightOf(const float* classWeights, std::int32_t label) {
  return classWeights == nullptr ? 1 : static_cast<double>(classWeights[label]);
}

struct RowLoss {
  double losses = 0, right = 0;
  std::int64_t wrong = PixelLabels::noLabel;
};

RowLoss lossOf(PixelLabels::Row labels, const Rows& rows, const float* scores, std::int64_t classes, const float* classWeights) {
  const std::int64_t block = rows.planes.block;
  RowLoss result;
  for (std::int64_t x = 0; x < rows.width; ++x, scores += block) {
    const std::int32_t label = labels(x);
    if (label == ignoredPixel) continue;
    const PixelSoftmax softmax = softmaxOfPixel({scores, rows.blockStride(), classes}, nullptr, block);
    const float score = scores[label / block * rows.blockStride() + label % block];
    result.losses += weightOf(classWeights, label) * (std::log(softmax.sum) + softmax.largest - static_cast<double>(score));
    if (softmax.best == label && !std::isnan(softmax.largest)) result.right += 1;
  }
  result.wrong = labels.wrong();
  return result;
}

void gradientOf(PixelLabels::Row& labels, const Rows& rows, const float* scores, std::int64_t classes, const float* classWeights,
                double normaliser, float* gradient) {
  const std::int64_t block = rows.planes.block;
  for (std::int64_t x = 0; x < rows.width; ++x, scores += block, gradient += block) {
    const std::int32_t label = labels(x);
    const double weight = label == ignoredPixel ? 0 : weightOf(classWeights, label);
    if (weight == 0) {
      for (std::int64_t b = 0; b < rows.planes.blocks; ++b) std::fill_n(gradient + b * rows.blockStride(), block, 0.0F);
      continue;
    }
    const PixelSoftmax softmax = softmaxOfPixel({scores, rows.blockStride(), classes}, gradient, block);
    const float scale = static_cast<float>(weight / (softmax.sum * normaliser));
    for (std::int64_t b = 0; b < rows.planes.blocks; ++b) {
      float* lanes = gradient + b * rows.blockStride();
      for (std::int64_t lane = 0; lane < rows.planes.lanes(b); ++lane) lanes[lane] *= scale;
    }
    gradient[label / block * rows.blockStride() + label % block] -= static_cast<float>(weight / normaliser);
  }
}

}  // namespace

Launch pixelCrossEntropyForward(const PixelCrossEntropy& c) {
  const Rows rows(c);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const float* source = elements<const float>(operands, 0);
    const PixelLabels labels(c, elements<const std::int32_t>(operands, 1));
    const float* classWeights = elements<const float>(operands, 2);
    double* loss = elements<double>(operands, 4);
    std::vector<RowLoss> byRow(static_cast<std::size_t>(rows.count));
    parallelFor(rows.count, [&](std::int64_t row) {
      byRow[static_cast<std::size_t>(row)] = lossOf(labels.row(row), rows, source + rows.at(row), c.channels, classWeights);
    });
    RowLoss all;
    for (const RowLoss& row : byRow) {
      all.losses += row.losses;
      all.right += row.right;
      all.wrong = std::min(all.wrong, row.wrong);
    }
    labels.require(all.wrong);
    if (all.losses != 0) loss[0] += all.losses / *elements<const double>(operands, 3);
    loss[1] += all.right;
  };
}

Launch pixelCrossEntropyBackward(const PixelCrossEntropy& c) {
  const Rows rows(c);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const float* source = elements<const float>(operands, 0);
    const PixelLabels labels(c, elements<const std::int32_t>(operands, 1));
    const float* classWeights = elements<const float>(operands, 2);
    const double normaliser = *elements<const double>(operands, 3);
    float* sourceGradient = elements(operands, 4);
    std::vector<std::int64_t> wrong(static_cast<std::size_t>(rows.count));
    parallelFor(rows.count, [&](std::int64_t row) {
      PixelLabels::Row rowLabels = labels.row(row);
      gradientOf(rowLabels, rows, source + rows.at(row), c.channels, classWeights, normaliser, sourceGradient + rows.at(row));
      wrong[static_cast<std::size_t>(row)] = rowLabels.wrong();
    });
    labels.require(*std::min_element(wrong.begin(), wrong.end()));
  };
}

}  // namespace tilefold::cpu
