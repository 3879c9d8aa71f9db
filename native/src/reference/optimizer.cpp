// Updates of weights, in place; as torch.optim does them.
#include <cmath>

#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// Stochastic gradient descent with momentum; `velocity` may be null when momentum is 0. The first
// step has number 0.
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

// Adam (Kingma, Ba 2015), or AdamW (Loshchilov, Hutter 2019) when decoupled.
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

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileOptimizer(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::sgd:
      return compiled(
          [s = decode<Sgd>(kernel)](const A& a) { sgd<P>(s, a.step.learningRate, a.step.step, a.at<P>(0), a.at<P>(1), a.at<P>(2)); });
    case KernelKind::adam:
      return compiled([o = decode<Adam>(kernel)](const A& a) {
        adam<P>(o, a.step.learningRate, a.step.step, a.at<P>(0), a.at<P>(1), a.at<P>(2), a.at<P>(3));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileOptimizer)

}  // namespace tilefold::reference
