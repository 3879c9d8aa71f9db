// Pointwise functions of tiles from their expressions, computed in float32. Semantics:
// reference/expression.cpp.
#include "../../generated/expressions.hpp"
#include "activation.cuh"
#include "compiled.hpp"
#include "element_loop.cuh"
#include "families.hpp"
#include "interpreted.cuh"
#include "statistics_sums.cuh"

namespace tilefold::cuda {
namespace {

// One that the compiler knows.
template <class Known>
struct Compiled {
  __device__ float operator()(const Leaves<float>& leaves) const { return Known::evaluate(leaves.input, leaves.gradient); }
};

// visit(the function of an expression).
template <class Visit>
void withFunction(const std::vector<double>& code, const Visit& visit) {
#define TILEFOLD_VISIT(Known) \
  if (std::equal(code.begin(), code.end(), std::begin(Known::code), std::end(Known::code))) return visit(Compiled<Known>{});
  TILEFOLD_EXPRESSIONS(TILEFOLD_VISIT)
#undef TILEFOLD_VISIT
  visit(Interpreted(code));
}

// The leaves of single elements.
template <class T>
struct ElementLeaves {
  ElementLeaves(const PointwiseTile& p, const PointwiseOperands<T>& read)
      : operands(read),
        tile(p.layout, p.channels, p.height, p.width),
        channels(p.channels),
        broadcast(p.broadcast && read.second != nullptr),
        weightPerChannel(p.weightPerChannel && read.weight != nullptr),
        biasPerChannel(p.biasPerChannel && read.bias != nullptr) {}

  __device__ static float at(const T* values, std::int64_t i) { return values == nullptr ? 0.0F : static_cast<float>(values[i]); }
  __device__ Leaves<float> operator()(std::int64_t i) const {
    Place place{};
    if (broadcast || weightPerChannel || biasPerChannel) place = tile.place(i);
    return {at(operands.input, i), at(operands.second, broadcast ? place.image * channels + place.channel : i), at(operands.gradient, i),
            operands.weight == nullptr ? 0.0F : operands.weight[weightPerChannel ? place.channel : 0],
            operands.bias == nullptr ? 0.0F : operands.bias[biasPerChannel ? place.channel : 0]};
  }

  PointwiseOperands<T> operands;
  Activation tile;
  std::int64_t channels;
  bool broadcast, weightPerChannel, biasPerChannel;
};

std::int64_t elements(const Tile& t) { return t.batch * t.channels * t.height * t.width; }

// Of an expression that reads nothing but elements of tiles.
template <class Function, class T>
void ofTiles(const Context& context, std::int64_t count, const PointwiseOperands<T>& operands, const Function& function, T* destination) {
  forEachPack<T>(context, "pointwise", count, {operands.input, operands.second, operands.gradient, destination},
                 [=] __device__(auto input, std::int64_t i) {
                   auto second = input;
                   auto gradient = input;
                   if (operands.input != nullptr) input.load(operands.input + i);
                   if (operands.second != nullptr) second.load(operands.second + i);
                   if (operands.gradient != nullptr) gradient.load(operands.gradient + i);
                   for (int k = 0; k < input.width; ++k) input[k] = function({input[k], second[k], gradient[k], 0.0F, 0.0F});
                   input.store(destination + i);
                 });
}

// The destination may be the input or the gradient.
template <class T>
void pointwise(const Context& context, const Pointwise& p, const PointwiseOperands<T>& operands, T* destination) {
  const bool broadcasts = (p.broadcast && operands.second != nullptr) || operands.weight != nullptr || operands.bias != nullptr;
  if (!broadcasts)
    return withFunction(p.expression, [&](const auto& function) { ofTiles(context, elements(p), operands, function, destination); });
  const ElementLeaves<T> leaves(p, operands);
  const Interpreted function(p.expression);
  forEach(context, "pointwise", elements(p),
          [=] __device__(std::int64_t i) { destination[i] = static_cast<T>(function(leaves(i))); });
}

// Sum is float, or T where there is one value an image and channel.
template <class T, class Sum>
void pointwiseSum(const Context& context, const PointwiseSum& s, const PointwiseOperands<T>& operands, Sum* sums) {
  const ElementLeaves<T> leaves(s, operands);
  const Interpreted function(s.expression);
  const SumRows rows = rowsOf(s);
  forEachRowSum<T, 1>(
      context, "pointwiseSum", StatisticsRows(s, rows == SumRows::one ? 1 : s.channels, rows == SumRows::imageChannels), {operands.gradient},
      [] __device__(const StatisticsRow& row) { return row.row; },
      [] __device__(auto values, std::int64_t) { return values; },
      [=] __device__(auto zero, const auto& values, std::int64_t i, const auto&, const auto& add) {
        for (int k = 0; k < values.width; ++k) add(k, static_cast<decltype(zero)>(function(leaves(i + k))), zero);
      },
      [=] __device__(const StatisticsRow& row, double sum, double) { sums[row.row] = static_cast<Sum>(sum); });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileExpression(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::pointwiseForward:
      return compiled(context,
                      [p = tiled<Pointwise>(kernel)](const A& a) { pointwise<T>(a.context, p, a.leaves<T>(nullptr), a.at<T>(4)); });
    case KernelKind::pointwiseBackward:
      return compiled(context,
                      [p = tiled<Pointwise>(kernel)](const A& a) { pointwise<T>(a.context, p, a.leaves<T>(a.at<T>(4)), a.at<T>(5)); });
    case KernelKind::pointwiseSum: {
      const auto s = tiled<PointwiseSum>(kernel);
      if (rowsOf(s) == SumRows::imageChannels)
        return compiled(context, [s](const A& a) { pointwiseSum<T, T>(a.context, s, a.leaves<T>(a.at<T>(4)), a.at<T>(5)); });
      return compiled(context, [s](const A& a) { pointwiseSum<T, float>(a.context, s, a.leaves<T>(a.at<T>(4)), a.at(5)); });
    }
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileExpression)

}  // namespace tilefold::cuda
