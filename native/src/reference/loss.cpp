// Losses; what is summed is summed in double, row after row, so that tiles along the batch change
// nothing.
#include <algorithm>
#include <cmath>

#include "../kernels/expression.hpp"
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// Read once, so that what was checked is what is used, whoever writes there meanwhile.
std::int32_t labelOf(const CrossEntropy& c, const std::int32_t* labels, std::int64_t row) {
  const std::int32_t label = __atomic_load_n(labels + row, __ATOMIC_RELAXED);
  if (label < 0 || label >= c.classes)
    throw Failure("label " + std::to_string(label) + " of row " + std::to_string(row) + " is outside 0 .. " +
                  std::to_string(c.classes - 1) + ": relabel it or give the model more classes");
  return label;
}

// Throws before anything is written.
void checkLabels(const CrossEntropy& c, const std::int32_t* labels) {
  for (std::int64_t row = 0; row < c.batch; ++row) labelOf(c, labels, row);
}

template <class T>
double rowWeight(const T* rowWeights, std::int64_t row) {
  return rowWeights == nullptr ? 1 : static_cast<double>(rowWeights[row]);
}

// Largest score, and the sum of exp(score - largest).
template <class T>
struct Softmax {
  Softmax(const T* scores, std::int64_t classes) : largest(*std::max_element(scores, scores + classes)) {
    for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(static_cast<double>(scores[k]) - largest);
  }
  double largest, sum = 0;
};

// Calls visit(offset in the tile, offset in the strided tensor) for every element of a plane that
// is not padding.
template <class Visit>
void visitPlane(const StridedTile& t, const Planes& planes, std::int64_t plane, const Visit& visit) {
  const std::int64_t origin = planes.image(plane) * t.strideBatch + planes.firstChannel(plane) * t.strideChannel;
  for (std::int64_t y = 0; y < t.height; ++y)
    for (std::int64_t x = 0; x < t.width; ++x)
      for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane)
        visit(((plane * t.height + y) * t.width + x) * planes.block + lane, origin + lane * t.strideChannel + y * t.strideHeight + x);
}

// loss[0] += -log softmax(source)[label] / fullBatch of every row, loss[1] += rows whose largest
// score is the label's. A row's loss and gradient are multiplied by its weight; without
// `rowWeights` (null) every weight is 1. Throws Failure for a label outside 0 .. classes - 1.
template <class T>
void softmaxCrossEntropyForward(const CrossEntropy& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* rowWeights,
                                double* loss) {
  checkLabels(c, labels);
  for (std::int64_t row = 0; row < c.batch; ++row) {
    const T* scores = source + row * c.classes;
    const std::int32_t label = labelOf(c, labels, row);
    const Softmax<T> softmax(scores, c.classes);
    const double rowLoss = std::log(softmax.sum) + softmax.largest - static_cast<double>(scores[label]);
    loss[0] += rowWeight(rowWeights, row) * rowLoss / static_cast<double>(c.fullBatch);
    const T* best = std::max_element(scores, scores + c.classes);
    if (best - scores == label && !std::isnan(*best)) loss[1] += 1;
  }
}

template <class T>
void softmaxCrossEntropyBackward(const CrossEntropy& c, const T* source, const std::int32_t* labels, const ParameterOf<T>* rowWeights,
                                 T* sourceGradient) {
  checkLabels(c, labels);
  for (std::int64_t row = 0; row < c.batch; ++row) {
    const T* scores = source + row * c.classes;
    T* gradient = sourceGradient + row * c.classes;
    const std::int32_t label = labelOf(c, labels, row);
    const double weight = rowWeight(rowWeights, row);
    const Softmax<T> softmax(scores, c.classes);
    for (std::int64_t k = 0; k < c.classes; ++k) {
      const double probability = std::exp(static_cast<double>(scores[k]) - softmax.largest) / softmax.sum;
      gradient[k] = static_cast<T>(weight * (probability - (k == label ? 1 : 0)) / static_cast<double>(c.fullBatch));
    }
  }
}

// loss[0] += sum (source - target)^2 / count; `target` is plain and strided.
template <class T>
void meanSquaredErrorForward(const SquaredError& s, const T* source, const ParameterOf<T>* target, double* loss) {
  const Planes planes = planesOf(s);
  double sum = 0;
  for (std::int64_t plane = 0; plane < planes.count; ++plane)
    visitPlane(s, planes, plane, [&](std::int64_t at, std::int64_t targetAt) {
      const double difference = static_cast<double>(source[at]) - static_cast<double>(target[targetAt]);
      sum += difference * difference;
    });
  loss[0] += sum / static_cast<double>(s.count);
}

template <class T>
void meanSquaredErrorBackward(const SquaredError& s, const T* source, const ParameterOf<T>* target, T* sourceGradient) {
  const Planes planes = planesOf(s);
  const std::int64_t elements = s.height * s.width * planes.block;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    if (planes.lanes(plane) < planes.block) std::fill_n(sourceGradient + plane * elements, elements, T(0));
    visitPlane(s, planes, plane, [&](std::int64_t at, std::int64_t targetAt) {
      const double difference = static_cast<double>(source[at]) - static_cast<double>(target[targetAt]);
      sourceGradient[at] = static_cast<T>(2 * difference / static_cast<double>(s.count));
    });
  }
}

// loss[0] += sum of the expression / normaliser, over the elements whose target is a number.
template <class T>
void valueLossForward(const ValueLoss& v, const T* source, const ParameterOf<T>* target, const ParameterOf<T>* rowWeights, double normaliser,
                      double* loss) {
  const std::vector<ExpressionStep> steps = expressionSteps(v.expression);
  const Planes planes = planesOf(v);
  std::vector<double> sums(static_cast<std::size_t>(planes.count));
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane)
    visitPlane(v, planes, plane, [&](std::int64_t at, std::int64_t targetAt) {
      const double wanted = static_cast<double>(target[targetAt]);
      if (!std::isnan(wanted))
        sums[static_cast<std::size_t>(plane)] +=
            rowWeight(rowWeights, planes.image(plane)) * evaluate(steps, {static_cast<double>(source[at]), wanted, 0, 0, 0});
    });
  double sum = 0;
  for (const double one : sums) sum += one;
  if (sum != 0) loss[0] += sum / normaliser;
}

template <class T>
void valueLossBackward(const ValueLoss& v, const T* source, const ParameterOf<T>* target, const ParameterOf<T>* rowWeights,
                       double normaliser, T* sourceGradient) {
  const std::vector<ExpressionStep> steps = expressionSteps(v.expression);
  const Planes planes = planesOf(v);
  const std::int64_t elements = v.height * v.width * planes.block;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    if (planes.lanes(plane) < planes.block) std::fill_n(sourceGradient + plane * elements, elements, T(0));
    const double share = rowWeight(rowWeights, planes.image(plane)) / normaliser;
    visitPlane(v, planes, plane, [&](std::int64_t at, std::int64_t targetAt) {
      const double wanted = static_cast<double>(target[targetAt]);
      sourceGradient[at] = static_cast<T>(
          std::isnan(wanted) ? 0.0 : evaluate(steps, {static_cast<double>(source[at]), wanted, share, 0, 0}));
    });
  }
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileLoss(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::softmaxCrossEntropyForward:
      return compiled([c = decode<CrossEntropy>(kernel)](const A& a) {
        softmaxCrossEntropyForward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), a.at<double>(3));
      });
    case KernelKind::softmaxCrossEntropyBackward:
      return compiled([c = decode<CrossEntropy>(kernel)](const A& a) {
        softmaxCrossEntropyBackward<T>(c, a.at<T>(0), a.at<std::int32_t>(1), a.at<P>(2), a.at<T>(3));
      });
    case KernelKind::meanSquaredErrorForward:
      return compiled(
          [s = decode<SquaredError>(kernel)](const A& a) { meanSquaredErrorForward<T>(s, a.at<T>(0), a.at<P>(1), a.at<double>(2)); });
    case KernelKind::meanSquaredErrorBackward:
      return compiled(
          [s = decode<SquaredError>(kernel)](const A& a) { meanSquaredErrorBackward<T>(s, a.at<T>(0), a.at<P>(1), a.at<T>(2)); });
    case KernelKind::valueLossForward:
      return compiled([v = decode<ValueLoss>(kernel)](const A& a) {
        valueLossForward<T>(v, a.at<T>(0), a.at<P>(1), a.at<P>(2), *a.at<double>(3), a.at<double>(4));
      });
    case KernelKind::valueLossBackward:
      return compiled([v = decode<ValueLoss>(kernel)](const A& a) {
        valueLossBackward<T>(v, a.at<T>(0), a.at<P>(1), a.at<P>(2), *a.at<double>(3), a.at<T>(4));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileLoss)

}  // namespace tilefold::reference
