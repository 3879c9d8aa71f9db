#include "optimizer.hpp"

#include <cmath>

namespace tilefold::reference {

template <class T>
void sgd(const Sgd& s, double learningRate, std::uint64_t step, T* weights, const T* gradient, T* velocity) {
  const T rate = static_cast<T>(learningRate * s.rate), decay = static_cast<T>(s.weightDecay), momentum = static_cast<T>(s.momentum);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < s.count; ++i) {
    T change = gradient[i] + decay * weights[i];
    if (velocity != nullptr) {
      if (step > 0) change += momentum * velocity[i];
      velocity[i] = change;
    }
    weights[i] -= rate * change;
  }
}

template <class T>
void adam(const Adam& a, double learningRate, std::uint64_t step, T* weights, const T* gradient, T* firstMoment, T* secondMoment) {
  const double count = static_cast<double>(step) + 1, rate = learningRate * a.rate;
  const T stepSize = static_cast<T>(rate / (1 - std::pow(a.beta1, count)));
  const T secondCorrection = static_cast<T>(std::sqrt(1 - std::pow(a.beta2, count)));
  const T shrink = static_cast<T>(a.decoupled ? 1 - rate * a.weightDecay : 1);
  const T decay = static_cast<T>(a.decoupled ? 0 : a.weightDecay);
  const T beta1 = static_cast<T>(a.beta1), beta2 = static_cast<T>(a.beta2), epsilon = static_cast<T>(a.epsilon);
  const T fresh1 = static_cast<T>(1 - a.beta1), fresh2 = static_cast<T>(1 - a.beta2);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < a.count; ++i) {
    const T slope = gradient[i] + decay * weights[i];
    firstMoment[i] = beta1 * firstMoment[i] + fresh1 * slope;
    secondMoment[i] = beta2 * secondMoment[i] + fresh2 * slope * slope;
    weights[i] = shrink * weights[i] - stepSize * firstMoment[i] / (std::sqrt(secondMoment[i]) / secondCorrection + epsilon);
  }
}

#define TILEFOLD_INSTANTIATE(T)                                              \
  template void sgd<T>(const Sgd&, double, std::uint64_t, T*, const T*, T*); \
  template void adam<T>(const Adam&, double, std::uint64_t, T*, const T*, T*, T*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(double)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::reference
