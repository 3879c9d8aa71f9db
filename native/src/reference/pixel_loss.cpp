// Softmax cross-entropy of every pixel's scores and the class of the largest, in any activation
// layout. Softmax is formed in double.
#include <cmath>

#include "../kernels/pixel_labels.hpp"
#include "compiled.hpp"
#include "families.hpp"
#include "pixel_scores.hpp"

namespace tilefold::reference {
namespace {

// Largest score, the first channel that has it, and the sum of exp(score - largest).
template <class T>
struct PixelSoftmax {
  PixelSoftmax(const Scores<const T>& scores, const T* pixel, std::int64_t classes) : largest(static_cast<double>(pixel[0])) {
    for (std::int64_t k = 1; k < classes; ++k) {
      const double score = static_cast<double>(pixel[scores.offset(k)]);
      if (!(score > largest)) continue;
      largest = score;
      best = k;
    }
    for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(pixel[scores.offset(k)]) - largest);
  }
  double largest, sum = 0;
  std::int64_t best = 0;
};

template <class T>
double classWeight(const T* classWeights, std::int32_t label) {
  return classWeights == nullptr ? 1 : static_cast<double>(classWeights[label]);
}

// Adds to loss: [sum of weighted losses / normaliser, pixels predicted rightly]; nothing where no
// pixel counts. Throws Failure for a label that is none, and leaves loss as it was.
template <class T>
void pixelCrossEntropyForward(const PixelCrossEntropy& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* classWeights,
                              double normaliser, double* loss) {
  const Scores<const T> scores(c, source);
  const PixelLabels pixelLabels(c, labels);
  const std::int64_t rows = c.batch * c.height;
  std::int64_t wrong = PixelLabels::noLabel;
  double losses = 0, right = 0;
  for (std::int64_t y = 0; y < rows; ++y) {
    PixelLabels::Row row = pixelLabels.row(y);
    for (std::int64_t x = 0; x < c.width; ++x) {
      const std::int32_t label = row(x);
      if (label == ignoredPixel) continue;
      const T* pixel = scores.at(y, x);
      const PixelSoftmax<T> softmax(scores, pixel, c.channels);
      const double score = static_cast<double>(pixel[scores.offset(label)]);
      losses += classWeight(classWeights, label) * (std::log(softmax.sum) + softmax.largest - score);
      if (softmax.best == label && !std::isnan(softmax.largest)) right += 1;
    }
    wrong = std::min(wrong, row.wrong());
  }
  pixelLabels.require(wrong);
  if (losses != 0) loss[0] += losses / normaliser;
  loss[1] += right;
}

// Pixels that do not count have gradient 0.
template <class T>
void pixelCrossEntropyBackward(const PixelCrossEntropy& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* classWeights,
                               double normaliser, T* sourceGradient) {
  const Scores<const T> scores(c, source);
  const Scores<T> gradients(c, sourceGradient);
  const PixelLabels pixelLabels(c, labels);
  const std::int64_t rows = c.batch * c.height, lanes = roundUp(c.channels, scores.planes.block);
  std::int64_t wrong = PixelLabels::noLabel;
#pragma omp parallel for schedule(static) reduction(min : wrong)
  for (std::int64_t y = 0; y < rows; ++y) {
    PixelLabels::Row row = pixelLabels.row(y);
    for (std::int64_t x = 0; x < c.width; ++x) {
      const std::int32_t label = row(x);
      T* gradient = gradients.at(y, x);
      const double weight = label == ignoredPixel ? 0 : classWeight(classWeights, label);
      if (weight == 0) {
        for (std::int64_t k = 0; k < lanes; ++k) gradient[scores.offset(k)] = 0;
        continue;
      }
      const T* pixel = scores.at(y, x);
      const PixelSoftmax<T> softmax(scores, pixel, c.channels);
      for (std::int64_t k = 0; k < c.channels; ++k) {
        const double probability = std::exp(static_cast<double>(pixel[scores.offset(k)]) - softmax.largest) / softmax.sum;
        gradient[scores.offset(k)] = static_cast<T>(weight * (probability - (k == label ? 1 : 0)) / normaliser);
      }
      for (std::int64_t k = c.channels; k < lanes; ++k) gradient[scores.offset(k)] = 0;
    }
    wrong = std::min(wrong, row.wrong());
  }
  pixelLabels.require(wrong);
}

// The first of equals, of a single channel 1 where its score is above 0; noClass where a score is
// not finite.
template <class T>
void argmaxChannels(const PlacedTile& t, const T* source, std::uint8_t* classes) {
  const Scores<const T> scores(t, source);
  const std::int64_t rows = t.batch * t.height;
#pragma omp parallel for schedule(static)
  for (std::int64_t y = 0; y < rows; ++y) {
    std::uint8_t* out = classes + rowStart(t, y / t.height, y % t.height);
    for (std::int64_t x = 0; x < t.width; ++x) {
      const T* pixel = scores.at(y, x);
      std::int64_t best = 0;
      bool finite = true;
      for (std::int64_t k = 0; k < t.channels; ++k) {
        finite = finite && std::isfinite(static_cast<double>(pixel[scores.offset(k)]));
        if (pixel[scores.offset(k)] > pixel[scores.offset(best)]) best = k;
      }
      if (t.channels == 1) best = pixel[0] > T(0) ? 1 : 0;
      out[x] = finite ? static_cast<std::uint8_t>(best) : noClass;
    }
  }
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compilePixelLoss(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::pixelCrossEntropyForward:
      return compiled([c = decode<PixelCrossEntropy>(kernel)](const A& a) {
        pixelCrossEntropyForward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), *a.at<double>(3), a.at<double>(4));
      });
    case KernelKind::pixelCrossEntropyBackward:
      return compiled([c = decode<PixelCrossEntropy>(kernel)](const A& a) {
        pixelCrossEntropyBackward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), *a.at<double>(3), a.at<T>(4));
      });
    case KernelKind::argmaxChannels:
      return compiled([t = decode<PlacedTile>(kernel)](const A& a) { argmaxChannels<T>(t, a.at<T>(0), a.at<std::uint8_t>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compilePixelLoss)

}  // namespace tilefold::reference
