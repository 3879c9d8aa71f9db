// The sums that a normalisation's gradients are made of. Semantics: reference/normalisation.cpp;
// sums are made in double, of columns from a few terms in float32, in an order that the shape and
// the operands' alignment decide.
#include "../../kernels/normalisation.hpp"
#include "../../kernels/rectifier.hpp"
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

// Pixels at once, of whichever launch: their sums are the same bits.
constexpr int reducedAhead = 4;

template <class T>
struct FinishGradientSums {
  Normalise n;
  NormaliseOperands<T> operands;
  GradientSums* sums;

  __device__ void operator()(const StatisticsRow& row, double sum, double product) const {
    const Moments& moments = operands.row(n, row.image, row.group);
    const double lost = operands.normaliser(n, row.image, row.group).lost(moments);
    sums[row.row].add({sum, moments.reciprocalDeviation(n.epsilon) * (product - lost * sum)});
  }
};

template <class T>
void normaliseBackwardReduce(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, GradientSums* sums) {
  const T *source = operands.source, *gradient = operands.gradient;
  const float slope = static_cast<float>(n.slope);
  // A row for each channel.
  forEachRowSum<T, reducedAhead>(
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
      FinishGradientSums<T>{n, operands, sums});
}

// Of a gradient that is not there yet: what it is so far and `added` make together, where it passes
// a rectifier of slope 0 with this output.
template <class T>
struct PassingGradient {
  const T *source, *output, *added;
  T* gradient;

  template <int n>
  __device__ ReduceTerms<T, n> operator()(Pack<float, n>, std::int64_t i) const {
    using Values = Loaded<T, n>;
    const Values values(source + i), decides(output + i), before(gradient + i), more(added + i);
    const Pack<float, n> outputs = decides.values(), addends = more.values();
    Pack<float, n> sums = before.values();
    for (int k = 0; k < n; ++k) sums[k] = rectified(outputs[k], static_cast<float>(static_cast<T>(sums[k] + addends[k])), 0.0F);
    return {values, Values(sums)};
  }
  // Once it is there.
  template <int n>
  __device__ ReduceTerms<T, n> again(Pack<float, n>, std::int64_t i) const {
    return {Loaded<T, n>(source + i), Loaded<T, n>(gradient + i)};
  }
};

// Of a normalisation without a rectifier.
template <class T>
void reducePassingGradient(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, const PassingGradient<T>& read,
                           GradientSums* sums) {
  T* const gradient = read.gradient;
  forEachRowSum<T, reducedAhead>(
      context, "normaliseBackwardReduce", StatisticsRows(n, n.channels, n.perImage), {read.source, read.output, read.added, gradient},
      [=] __device__(const StatisticsRow& row) { return operands.normaliser(n, row.image, row.group).mean; }, read,
      [=] __device__(auto zero, const auto& terms, std::int64_t i, const auto& mean, const auto& add) {
        const auto values = terms.values.values(), passed = terms.passed.values();
        for (int k = 0; k < values.width; ++k) {
          const auto dy = static_cast<decltype(zero)>(passed[k]);
          add(k, dy, dy * static_cast<decltype(zero)>(values[k] - mean(k)));
        }
        passed.store(gradient + i);
      },
      FinishGradientSums<T>{n, operands, sums});
}

// With a sum of gradients and the rectifier that it passes, in its place.
template <class T>
std::function<void()> reduceWith(const Context& context, const Normalise& n, const std::vector<WaitingLaunch>& before,
                                 const LaunchOperands& own) {
  if (before.size() != 2 || before[0].kernel->kind != KernelKind::copyBox || before[1].kernel->kind != KernelKind::rectifierBackward)
    return nullptr;
  const auto rectifier = decode<Rectifier>(*before[1].kernel);
  const LaunchOperands added{before[0].operands}, passing{before[1].operands};
  const std::int64_t count = n.batch * n.channels * n.height * n.width;
  T *const gradient = own.at<T>(4), *const output = passing.at<T>(0);
  auto* const sums = own.at<GradientSums>(5);
  if (n.slope != 1 || rectifier.slope != 0 || rectifier.count != count || passing.at<T>(2) != gradient) return nullptr;
  // The rectifier's output may end with that launch.
  const std::int64_t rows = n.channels * (n.perImage ? n.batch : 1);
  if (overlap(sums, rows * static_cast<std::int64_t>(sizeof(GradientSums)), output, count * static_cast<std::int64_t>(sizeof(T))))
    return nullptr;
  const NormaliseOperands<T> operands{own.at<T>(0), own.at<Moments>(1), own.at<float>(2), own.at<float>(3), gradient};
  const PassingGradient<T> read{operands.source, output, added.at<T>(0), gradient};
  return [&context, n, operands, read, sums] { reducePassingGradient<T>(context, n, operands, read, sums); };
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
    case KernelKind::normaliseBackwardReduce: {
      const auto n = tiled<Normalise>(kernel);
      return compiledWith(
          context,
          [n](const A& a) {
            normaliseBackwardReduce<T>(a.context, n, {a.at<T>(0), a.at<Moments>(1), a.at(2), a.at(3), a.at<T>(4)}, a.at<GradientSums>(5));
          },
          [&context, n](const auto& before, const auto& operands) { return reduceWith<T>(context, n, before, {operands}); });
    }
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
