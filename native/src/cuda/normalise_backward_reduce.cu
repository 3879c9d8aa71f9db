// The sums that a normalisation's gradients are made of. Semantics: reference/normalisation.cpp;
// sums are made in double, of columns from a few terms in float32, in an order that the shape and
// the operands' alignment decide.
#include "../kernels/normalisation.hpp"
#include "../kernels/rectifier.hpp"
#include "compiled.hpp"
#include "families.hpp"
#include "small_launch.cuh"
#include "statistics_sums.cuh"

namespace tilefold::cuda {
namespace {

template <class T, int n>
struct ReduceTerms {
  Loaded<T, n> values, passed;
};

template <class T>
void normaliseBackwardReduce(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, GradientSums* sums) {
  const T *source = operands.source, *gradient = operands.gradient;
  const float slope = static_cast<float>(n.slope);
  // A row for each channel.
  forEachRowSum<T, 4>(
      context, "normaliseBackwardReduce", StatisticsRows(n, n.channels, n.perImage), {source, gradient},
      [=] __device__(const StatisticsRow& row) { return operands.normaliser(n, row.image, row.group); },
      [=] __device__(auto values, std::int64_t i) {
        using Values = Loaded<T, decltype(values)::width>;
        return ReduceTerms<T, decltype(values)::width>{Values(source + i), Values(gradient + i)};
      },
      [=] __device__(auto zero, const auto& terms, std::int64_t, const auto& normaliser, const auto& add) {
        const auto values = terms.values.values(), passed = terms.passed.values();
        for (int k = 0; k < values.width; ++k) {
          const auto dy = static_cast<decltype(zero)>(rectified(normaliser(k)(values[k]), passed[k], slope));
          add(k, dy, dy * static_cast<decltype(zero)>(values[k] - normaliser(k).mean));
        }
      },
      [=] __device__(const StatisticsRow& row, double sum, double product) {
        const Moments& moments = operands.row(n, row.image, row.group);
        const double lost = operands.normaliser(n, row.image, row.group).lost(moments);
        sums[row.row].add({sum, moments.reciprocalDeviation(n.epsilon) * (product - lost * sum)});
      });
}

struct ParametersPart {
  static constexpr const char* name = "normaliseParameters";
  std::int64_t count, packs, images;
  const GradientSums* sums;
  float *weightGradient, *biasGradient;

  template <class Values>
  __device__ void operator()(Values values, std::int64_t first, const StepOnDevice&) const {
    for (std::int64_t channel = first; channel < first + values.width; ++channel) {
      GradientSums total;
      for (std::int64_t image = 0; image < images; ++image) total.add(sums[image * count + channel]);
      if (weightGradient != nullptr) weightGradient[channel] = static_cast<float>(total.product);
      if (biasGradient != nullptr) biasGradient[channel] = static_cast<float>(total.gradient);
    }
  }
};

SmallLaunch normaliseParameters(const NormaliseParameters& p, const GradientSums* sums, float* weightGradient, float* biasGradient) {
  const std::int64_t bytes = p.channels * static_cast<std::int64_t>(sizeof(float));
  return smallLaunch(
      ParametersPart{p.channels, 0, p.images, sums, weightGradient, biasGradient},
      {{sums, p.images * p.channels * static_cast<std::int64_t>(sizeof(GradientSums))}, {weightGradient, bytes}, {biasGradient, bytes}});
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileNormaliseBackwardReduce(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::normaliseBackwardReduce:
      return compiled(context, [n = tiled<Normalise>(kernel)](const A& a) {
        normaliseBackwardReduce<T>(a.context, n, {a.at<T>(0), a.at<Moments>(1), a.at(2), a.at(3), a.at<T>(4)}, a.at<GradientSums>(5));
      });
    case KernelKind::normaliseParameters:
      return compiledSmall(context, [p = decode<NormaliseParameters>(kernel)](const A& a) {
        return normaliseParameters(p, a.at<GradientSums>(0), a.at(1), a.at(2));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileNormaliseBackwardReduce)

}  // namespace tilefold::cuda
