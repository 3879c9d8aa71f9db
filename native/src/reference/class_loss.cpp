// Losses of scores and classes, by an expression of each channel, and sums over images for Dice and
// Tversky. All in double.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "../kernels/expression.hpp"
#include "../kernels/pixel_labels.hpp"
#include "compiled.hpp"
#include "families.hpp"
#include "pixel_scores.hpp"

namespace tilefold::reference {
namespace {

// Of a pixel: what the loss of each channel is a function of, the logarithm of the softmax or the
// score itself.
class Inputs {
 public:
  explicit Inputs(const Probabilities& p) : softmax_(p.softmax), values_(static_cast<std::size_t>(p.channels)) {}

  template <class T>
  void read(const Scores<const T>& scores, const T* pixel) {
    for (std::size_t k = 0; k < values_.size(); ++k)
      values_[k] = static_cast<double>(pixel[scores.offset(static_cast<std::int64_t>(k))]);
    if (!softmax_) return;
    const double largest = *std::max_element(values_.begin(), values_.end());
    double sum = 0;
    for (const double score : values_) sum += std::exp(score - largest);
    const double all = largest + std::log(sum);
    for (double& value : values_) value -= all;
  }
  double operator[](std::int64_t channel) const { return values_[static_cast<std::size_t>(channel)]; }
  double probability(std::int64_t channel) const {
    const double input = (*this)[channel];
    return softmax_ ? std::exp(input) : 1 / (1 + std::exp(-input));
  }
  // Of a single channel, 1 where its score is above 0; else the first of the largest. -1 where that
  // is no number.
  std::int64_t predicted() const {
    if (values_.size() == 1) return std::isnan(values_[0]) ? -1 : values_[0] > 0 ? 1 : 0;
    const auto best = std::max_element(values_.begin(), values_.end());
    return std::isnan(*best) ? -1 : best - values_.begin();
  }

 private:
  bool softmax_;
  std::vector<double> values_;
};

template <class T>
double weightOf(const T* weights, std::int64_t index) {
  return weights == nullptr ? 1 : static_cast<double>(weights[index]);
}

// visit(pixel's address, its label, inputs that were read of it) for the pixels of each row that
// count, rows side by side. Throws Failure for a label that is none, when all rows are done.
template <class T, class Visit>
void visitRows(const Probabilities& p, const T* source, const std::int32_t* labels, const Visit& visit) {
  const Scores<const T> scores(p, source);
  const PixelLabels pixelLabels(p, labels, labelCount(p.channels));
  std::int64_t wrong = PixelLabels::noLabel;
#pragma omp parallel reduction(min : wrong)
  {
    Inputs inputs(p);
#pragma omp for schedule(static)
    for (std::int64_t y = 0; y < p.batch * p.height; ++y) {
      PixelLabels::Row row = pixelLabels.row(y);
      for (std::int64_t x = 0; x < p.width; ++x) {
        const std::int32_t label = row(x);
        if (label != ignoredPixel) inputs.read(scores, scores.at(y, x));
        visit(y, x, label, inputs);
      }
      wrong = std::min(wrong, row.wrong());
    }
  }
  pixelLabels.require(wrong);
}

struct RowSum {
  double losses = 0, right = 0;
};

template <class T>
void classLossForward(const ClassLoss& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* classWeights,
                      const ParameterOf<T>* rowWeights, double normaliser, double* loss) {
  const std::vector<ExpressionStep> steps = expressionSteps(c.expression);
  std::vector<RowSum> rows(static_cast<std::size_t>(c.batch * c.height));
  visitRows(c, source, labels, [&](std::int64_t y, std::int64_t, std::int32_t label, const Inputs& inputs) {
    if (label == ignoredPixel) return;
    RowSum& row = rows[static_cast<std::size_t>(y)];
    for (std::int64_t k = 0; k < c.channels; ++k) {
      const double weight = weightOf(classWeights, k) * weightOf(rowWeights, y / c.height);
      if (weight != 0) row.losses += weight * evaluate(steps, {inputs[k], targetOf(c.channels, k, label), 0, 0, 0});
    }
    if (inputs.predicted() == label) row.right += 1;
  });
  RowSum all;
  for (const RowSum& row : rows) {
    all.losses += row.losses;
    all.right += row.right;
  }
  if (all.losses != 0) loss[0] += all.losses / normaliser;
  loss[1] += all.right;
}

template <class P>
double sumOfWeights(const P* classWeights, std::int64_t channels) {
  return classWeights == nullptr ? static_cast<double>(channels) : std::accumulate(classWeights, classWeights + channels, 0.0);
}

// The gradients of a pixel's inputs become those of its scores: a pixel that does not count has
// none.
template <class T>
void classLossBackward(const ClassLossBackward& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* classWeights,
                       const ParameterOf<T>* rowWeights, double normaliser, const double* overlaps, T* sourceGradient) {
  const std::vector<ExpressionStep> steps = expressionSteps(c.expression);
  const Scores<T> gradients(c, sourceGradient);
  const double allWeights = sumOfWeights(classWeights, c.channels);
  const std::int64_t lanes = roundUp(c.channels, gradients.planes.block);
  visitRows(c, source, labels, [&](std::int64_t y, std::int64_t x, std::int32_t label, const Inputs& inputs) {
    T* const gradient = gradients.at(y, x);
    const auto gradientOf = [&](std::int64_t k) {
      const double weight = weightOf(classWeights, k), target = targetOf(c.channels, k, label);
      if (weight == 0) return 0.0;
      double own = evaluate(steps, {inputs[k], target, weight * weightOf(rowWeights, y / c.height) / normaliser, 0, 0});
      if (overlaps != nullptr) {
        const double p = inputs.probability(k);
        own += c.scale * weight / allWeights * Index(c, overlaps + (y / c.height * c.channels + k) * 3).derivative(c, target) *
               (c.softmax ? p : p * (1 - p));
      }
      return own;
    };
    double sum = 0;
    if (c.softmax && label != ignoredPixel)
      for (std::int64_t k = 0; k < c.channels; ++k) sum += gradientOf(k);
    for (std::int64_t k = 0; k < lanes; ++k) {
      const bool counts = label != ignoredPixel && k < c.channels;
      gradient[gradients.offset(k)] =
          counts ? static_cast<T>(gradientOf(k) - (c.softmax ? sum * inputs.probability(k) : 0)) : static_cast<T>(0);
    }
  });
}

template <class T>
void sumOverlaps(const Probabilities& p, const T* source, const std::int32_t* labels, double* overlaps) {
  const auto ofRow = static_cast<std::size_t>(p.channels) * 3;
  std::vector<double> rows(static_cast<std::size_t>(p.batch * p.height) * ofRow);
  visitRows(p, source, labels, [&](std::int64_t y, std::int64_t, std::int32_t label, const Inputs& inputs) {
    if (label == ignoredPixel) return;
    double* sums = rows.data() + static_cast<std::size_t>(y) * ofRow;
    for (std::int64_t k = 0; k < p.channels; ++k, sums += 3) {
      const double probability = inputs.probability(k), target = targetOf(p.channels, k, label);
      sums[0] += probability * target;
      sums[1] += probability;
      sums[2] += target;
    }
  });
  for (std::int64_t y = 0; y < p.batch * p.height; ++y)
    for (std::size_t k = 0; k < ofRow; ++k)
      overlaps[static_cast<std::size_t>(y / p.height) * ofRow + k] += rows[static_cast<std::size_t>(y) * ofRow + k];
}

template <class P>
void overlapLoss(const OverlapLoss& o, const double* overlaps, const P* classWeights, double* loss) {
  double sum = 0;
  for (std::int64_t row = 0; row < o.images * o.channels; ++row)
    sum += weightOf(classWeights, row % o.channels) * Index(o, overlaps + row * 3).loss();
  loss[0] += o.scale * sum / sumOfWeights(classWeights, o.channels);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileClassLoss(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::classLossForward:
      return compiled([c = decode<ClassLoss>(kernel)](const A& a) {
        classLossForward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), a.at<P>(3), *a.at<double>(4), a.at<double>(5));
      });
    case KernelKind::classLossBackward:
      return compiled([c = decode<ClassLossBackward>(kernel)](const A& a) {
        classLossBackward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), a.at<P>(3), *a.at<double>(4), a.at<double>(5), a.at<T>(6));
      });
    case KernelKind::sumOverlaps:
      return compiled([p = decode<Probabilities>(kernel)](const A& a) {
        sumOverlaps<T>(p, a.at<T>(0), a.at<std::int32_t>(1), a.at<double>(2));
      });
    case KernelKind::overlapLoss:
      return compiled([o = decode<OverlapLoss>(kernel)](const A& a) { overlapLoss(o, a.at<double>(0), a.at<P>(1), a.at<double>(2)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileClassLoss)

}  // namespace tilefold::reference
