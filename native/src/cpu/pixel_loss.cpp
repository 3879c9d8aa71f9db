#include "pixel_loss.hpp"

#include <cmath>

#include "../kernels/pixel_labels.hpp"
#include "../reference/block_loop.hpp"
#include "processor/parallel.hpp"
#include "vectors/pixel_loops.hpp"

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

// visit(first column, scores, softmax, exponentials) of each run of a row's pixels.
template <class T, class Visit>
void forRuns(const Rows& rows, const T* scores, std::int64_t classes, const Visit& visit) {
  std::vector<float> exponentials(static_cast<std::size_t>(classes * pixelRun));
  PixelSoftmax softmax;
  for (std::int64_t x = 0; x < rows.width; x += pixelRun) {
    const std::int64_t block = rows.planes.block;
    const PixelScores<T> pixels{scores + x * block, std::min(pixelRun, rows.width - x), rows.blockStride(), classes, block};
    softmaxOfPixels(pixels, softmax, exponentials.data());
    visit(x, pixels, softmax, exponentials.data());
  }
}

template <class T>
RowLoss lossOf(PixelLabels::Row labels, const Rows& rows, const T* scores, std::int64_t classes, const float* classWeights) {
  RowLoss result;
  forRuns(rows, scores, classes, [&](std::int64_t first, const PixelScores<T>& pixels, const PixelSoftmax& softmax, const float*) {
    for (std::int64_t x = 0; x < pixels.count; ++x) {
      const std::int32_t label = labels(first + x);
      if (label == ignoredPixel) continue;
      const auto largest = static_cast<double>(softmax.largest[x]);
      const float score = pixels.scores[pixels.offset(x, label)];
      result.losses += weightOf(classWeights, label) * (std::log(softmax.sum[x]) + largest - static_cast<double>(score));
      if (softmax.best[x] == label && !std::isnan(largest)) result.right += 1;
    }
  });
  result.wrong = labels.wrong();
  return result;
}

template <class T>
void gradientOf(PixelLabels::Row& labels, const Rows& rows, const T* scores, std::int64_t classes, const float* classWeights,
                double normaliser, T* gradient) {
  forRuns(rows, scores, classes, [&](std::int64_t first, const PixelScores<T>& pixels, const PixelSoftmax& softmax, const float* exponentials) {
    PixelGradients gradients = {};
    for (std::int64_t x = 0; x < pixels.count; ++x) {
      gradients.label[x] = labels(first + x);
      const double weight = gradients.label[x] == ignoredPixel ? 0 : weightOf(classWeights, gradients.label[x]);
      gradients.scale[x] = static_cast<float>(weight / (softmax.sum[x] * normaliser));
      gradients.share[x] = static_cast<float>(weight / normaliser);
    }
    writeGradients(pixels, exponentials, gradients, gradient + first * pixels.block);
  });
}

}  // namespace

template <class T>
Launch pixelCrossEntropyForward(const PixelCrossEntropy& c) {
  const Rows rows(c);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const T* source = elements<const T>(operands, 0);
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

template <class T>
Launch pixelCrossEntropyBackward(const PixelCrossEntropy& c) {
  const Rows rows(c);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const T* source = elements<const T>(operands, 0);
    const PixelLabels labels(c, elements<const std::int32_t>(operands, 1));
    const float* classWeights = elements<const float>(operands, 2);
    const double normaliser = *elements<const double>(operands, 3);
    T* sourceGradient = elements<T>(operands, 4);
    std::vector<std::int64_t> wrong(static_cast<std::size_t>(rows.count));
    parallelFor(rows.count, [&](std::int64_t row) {
      PixelLabels::Row rowLabels = labels.row(row);
      gradientOf(rowLabels, rows, source + rows.at(row), c.channels, classWeights, normaliser, sourceGradient + rows.at(row));
      wrong[static_cast<std::size_t>(row)] = rowLabels.wrong();
    });
    labels.require(*std::min_element(wrong.begin(), wrong.end()));
  };
}

template Launch pixelCrossEntropyForward<float>(const PixelCrossEntropy&);
template Launch pixelCrossEntropyForward<Bfloat16>(const PixelCrossEntropy&);
template Launch pixelCrossEntropyBackward<float>(const PixelCrossEntropy&);
template Launch pixelCrossEntropyBackward<Bfloat16>(const PixelCrossEntropy&);

}  // namespace tilefold::cpu
