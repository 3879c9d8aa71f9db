// The arithmetic of normalisation that all devices share, so that they agree about every sign.
#pragma once
#include <cmath>
#include <cstdint>

#include "bfloat16.hpp"
#include "host_device.hpp"
#include "kernel_fields.hpp"

namespace tilefold {

// A row of statistics as it stands in memory: of `count` elements, the mean and the sum of squared
// deviations from it.
struct Moments {
  double count = 0, mean = 0, deviations = 0;

  // Chan, Golub, LeVeque 1979, equation 2.1.
  TILEFOLD_HOST_DEVICE void merge(const Moments& other) {
    if (other.count == 0) return;
    const double total = count + other.count, apart = other.mean - mean;
    mean += apart * (other.count / total);
    deviations += other.deviations + apart * apart * (count * other.count / total);
    count = total;
  }
  TILEFOLD_HOST_DEVICE double reciprocalDeviation(double epsilon) const { return 1 / std::sqrt(deviations / count + epsilon); }
};

// One channel's y = (x - mean) * scale + shift. What rounding takes from the mean is in the shift,
// so that data far from zero keeps its digits. Whoever needs y's sign again must form it by this
// very expression.
template <class T>
struct Normaliser {
  T mean = 0, scale = 0, shift = 0;

  Normaliser() = default;
  TILEFOLD_HOST_DEVICE Normaliser(const Moments& moments, double epsilon, double weight, double bias) {
    const double slope = moments.reciprocalDeviation(epsilon) * weight;
    mean = static_cast<T>(moments.mean);
    scale = static_cast<T>(slope);
    shift = static_cast<T>(bias - lost(moments) * slope);
  }
  TILEFOLD_HOST_DEVICE T operator()(T x) const { return (x - mean) * scale + shift; }
  // What the mean lost when it was rounded.
  TILEFOLD_HOST_DEVICE double lost(const Moments& moments) const { return moments.mean - static_cast<double>(mean); }
};

// Two sums of a channel as they stand in memory: of y's gradient, and of that times the normalised
// x.
struct GradientSums {
  double gradient = 0, product = 0;

  TILEFOLD_HOST_DEVICE void add(const GradientSums& other) {
    gradient += other.gradient;
    product += other.product;
  }
};

// Where a normalisation reads what, whatever the layout.
template <class T>
struct NormaliseOperands {
  const T* source = nullptr;
  const Moments* moments = nullptr;
  const ParameterOf<T>* weights = nullptr;  // absent: 1
  const ParameterOf<T>* bias = nullptr;     // absent: 0
  const T* gradient = nullptr;

  TILEFOLD_HOST_DEVICE double weight(std::int64_t channel) const { return weights == nullptr ? 1 : static_cast<double>(weights[channel]); }
  TILEFOLD_HOST_DEVICE double shift(std::int64_t channel) const { return bias == nullptr ? 0 : static_cast<double>(bias[channel]); }
  TILEFOLD_HOST_DEVICE const Moments& row(const Normalise& n, std::int64_t image, std::int64_t channel) const {
    return moments[statisticsRow(n, image, channel)];
  }
  TILEFOLD_HOST_DEVICE Normaliser<ParameterOf<T>> normaliser(const Normalise& n, std::int64_t image, std::int64_t channel) const {
    return {row(n, image, channel), n.epsilon, weight(channel), shift(channel)};
  }
};

// Over the channels of a row, the sums of their weighted gradients divided by its count: the means
// that backward takes away.
template <class T>
TILEFOLD_HOST_DEVICE GradientSums meanGradients(const Normalise& n, const NormaliseOperands<T>& operands, const GradientSums* sums,
                                                std::int64_t image, std::int64_t channel) {
  const std::int64_t perGroup = n.channels / n.groups, first = channel / perGroup * perGroup;
  GradientSums total;
  for (std::int64_t c = first; c < first + perGroup; ++c) {
    const GradientSums& own = sums[channelRow(n, image, c)];
    total.add({operands.weight(c) * own.gradient, operands.weight(c) * own.product});
  }
  const double count = operands.row(n, image, channel).count;
  return {total.gradient / count, total.product / count};
}

}  // namespace tilefold
