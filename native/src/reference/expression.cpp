// Pointwise functions of tiles, from their expressions; channel padding is zero.
#include "../kernels/expression.hpp"
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

template <class T>
double at(const T* values, std::int64_t index) {
  return values == nullptr ? 0 : static_cast<double>(values[index]);
}

// The leaves of element `index` of the tile, which is of this image and channel.
template <class T>
Leaves<double> leavesOf(const PointwiseTile& p, const PointwiseOperands<T>& operands, std::int64_t index, std::int64_t image,
                        std::int64_t channel) {
  return {at(operands.input, index), at(operands.second, p.broadcast ? image * p.channels + channel : index), at(operands.gradient, index),
          at(operands.weight, p.weightPerChannel ? channel : 0), at(operands.bias, p.biasPerChannel ? channel : 0)};
}

// The destination may be the input or the gradient.
template <class T>
void pointwise(const Pointwise& p, const PointwiseOperands<T>& operands, T* destination) {
  const std::vector<ExpressionStep> steps = expressionSteps(p.expression);
  const Planes planes = planesOf(p);
  const std::int64_t pixels = p.height * p.width;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane)
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (std::int64_t lane = 0; lane < planes.block; ++lane) {
        const std::int64_t index = (plane * pixels + pixel) * planes.block + lane;
        const bool isPadding = lane >= planes.lanes(plane);
        destination[index] =
            isPadding ? T(0)
                      : static_cast<T>(evaluate(steps,
                                                leavesOf(p, operands, index, planes.image(plane), planes.firstChannel(plane) + lane)));
      }
}

// Sum is the parameters' type, or T where there is one value an image and channel.
template <class T, class Sum>
void pointwiseSum(const PointwiseSum& s, const PointwiseOperands<T>& operands, Sum* sums) {
  const std::vector<ExpressionStep> steps = expressionSteps(s.expression);
  const Planes planes = planesOf(s);
  const std::int64_t pixels = s.height * s.width;
  std::vector<double> ofChannels(static_cast<std::size_t>(s.batch * s.channels));
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < s.batch * s.channels; ++row) {
    const std::int64_t image = row / s.channels, channel = row % s.channels;
    const std::int64_t plane = image * planes.blocks + channel / planes.block;
    double sum = 0;
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      sum += evaluate(steps,
                      leavesOf(s, operands, (plane * pixels + pixel) * planes.block + channel % planes.block, image, channel));
    ofChannels[static_cast<std::size_t>(row)] = sum;
  }
  std::vector<double> totals(static_cast<std::size_t>(sumCount(s)));
  for (std::size_t row = 0; row < ofChannels.size(); ++row) totals[row % totals.size()] += ofChannels[row];
  for (std::size_t row = 0; row < totals.size(); ++row) sums[row] = static_cast<Sum>(totals[row]);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileExpression(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::pointwiseForward:
      return compiled([p = decode<Pointwise>(kernel)](const A& a) { pointwise<T>(p, a.template leaves<T>(nullptr), a.at<T>(4)); });
    case KernelKind::pointwiseBackward:
      return compiled([p = decode<Pointwise>(kernel)](const A& a) { pointwise<T>(p, a.template leaves<T>(a.at<T>(4)), a.at<T>(5)); });
    case KernelKind::pointwiseSum: {
      const auto s = decode<PointwiseSum>(kernel);
      if (rowsOf(s) == SumRows::imageChannels)
        return compiled([s](const A& a) { pointwiseSum<T, T>(s, a.template leaves<T>(a.at<T>(4)), a.at<T>(5)); });
      return compiled([s](const A& a) { pointwiseSum<T, P>(s, a.template leaves<T>(a.at<T>(4)), a.at<P>(5)); });
    }
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileExpression)

}  // namespace tilefold::reference
