#include "activation.hpp"

#include <cmath>

#include "block_loop.hpp"

namespace tilefold::reference {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// The normal distribution, cumulative and its density.
double cumulative(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }
double density(double x) { return std::exp(-0.5 * x * x) / std::sqrt(2 * 3.14159265358979323846); }

double value(ActivationFunction function, double x) {
  switch (function) {
    case ActivationFunction::sigmoid:
      return sigmoid(x);
    case ActivationFunction::tanh:
      return std::tanh(x);
    case ActivationFunction::silu:
      return x * sigmoid(x);
    case ActivationFunction::gelu:
      return x * cumulative(x);
  }
  return x;
}

double derivative(ActivationFunction function, double kept) {
  switch (function) {
    case ActivationFunction::sigmoid:
      return kept * (1 - kept);
    case ActivationFunction::tanh:
      return 1 - kept * kept;
    case ActivationFunction::silu:
      return sigmoid(kept) * (1 + kept * (1 - sigmoid(kept)));
    case ActivationFunction::gelu:
      return cumulative(kept) + kept * density(kept);
  }
  return 1;
}

// destination[at] = element(at) for every element that is not padding, and 0 for those that are.
template <class T, class Element>
void forElements(const Activation& a, T* destination, const Element& element) {
  const Planes planes = planesOf(a);
  const std::int64_t pixels = a.height * a.width;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane)
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (std::int64_t lane = 0; lane < planes.block; ++lane) {
        const std::int64_t at = (plane * pixels + pixel) * planes.block + lane;
        destination[at] = lane < planes.lanes(plane) ? static_cast<T>(element(at)) : T(0);
      }
}

}  // namespace

template <class T>
void activationForward(const Activation& a, const T* source, T* destination) {
  forElements(a, destination, [&](std::int64_t at) { return value(functionOf(a), static_cast<double>(source[at])); });
}

template <class T>
void activationBackward(const Activation& a, const T* kept, const T* destinationGradient, T* sourceGradient) {
  forElements(a, sourceGradient, [&](std::int64_t at) {
    return static_cast<double>(destinationGradient[at]) * derivative(functionOf(a), static_cast<double>(kept[at]));
  });
}

#define TILEFOLD_INSTANTIATE(T)                                        \
  template void activationForward<T>(const Activation&, const T*, T*); \
  template void activationBackward<T>(const Activation&, const T*, const T*, T*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(double)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::reference
