#include "../rectifier.hpp"
#include "normalisation.hpp"
#include "statistics_sums.cuh"

namespace tilefold::cuda {

template <class T>
void normaliseBackwardReduce(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, GradientSums* sums) {
  const T *source = operands.source, *gradient = operands.gradient;
  const float slope = static_cast<float>(n.slope);
  // A row for each channel.
  forEachRowSum(
      context, "normaliseBackwardReduce", StatisticsRows(n, n.channels, n.perImage), {source, gradient},
      [=] __device__(const StatisticsRow& row) { return operands.normaliser(n, row.image, row.group); },
      [=] __device__(auto values, std::int64_t i, const auto& normaliser, const auto& add) {
        auto passed = values;
        values.load(source + i);
        passed.load(gradient + i);
        for (int k = 0; k < values.width; ++k) {
          const double dy = static_cast<double>(rectified(normaliser(k)(values[k]), passed[k], slope));
          add(k, dy, dy * static_cast<double>(values[k] - normaliser(k).mean));
        }
      },
      [=] __device__(const StatisticsRow& row, double sum, double product) {
        const Moments& moments = operands.row(n, row.image, row.group);
        const double lost = operands.normaliser(n, row.image, row.group).lost(moments);
        sums[row.row].add({sum, moments.reciprocalDeviation(n.epsilon) * (product - lost * sum)});
      });
}

void normaliseParameters(const Context& context, const NormaliseParameters& p, const GradientSums* sums, float* weightGradient,
                         float* biasGradient) {
  const std::int64_t images = p.images, channels = p.channels;
  forEach(context, "normaliseParameters", channels, [=] __device__(std::int64_t channel) {
    GradientSums total;
    for (std::int64_t image = 0; image < images; ++image) total.add(sums[image * channels + channel]);
    if (weightGradient != nullptr) weightGradient[channel] = static_cast<float>(total.product);
    if (biasGradient != nullptr) biasGradient[channel] = static_cast<float>(total.gradient);
  });
}

#define TILEFOLD_INSTANTIATE(T) \
  template void normaliseBackwardReduce<T>(const Context&, const Normalise&, const NormaliseOperands<T>&, GradientSums*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cuda
