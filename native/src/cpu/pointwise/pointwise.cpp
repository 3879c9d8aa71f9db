#include "pointwise.hpp"

#include <cmath>
#include <cstring>

#include "../processor/parallel.hpp"
#include "../vectors/vector_loops.hpp"
#include "optimizer_loops.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t grain = 16384;  // elements

}  // namespace

template <class T>
void rectifyAll(const T* source, T* destination, std::int64_t count, float slope) {
  parallelRanges(count, grain,
                 [&](std::int64_t begin, std::int64_t end) { rectify(source + begin, destination + begin, end - begin, slope); });
}

template <class T>
Launch rectifierForward(const Rectifier& r) {
  return [r](const std::vector<Operand>& operands, const StepParameters&) {
    const T* source = elements<const T>(operands, 0);
    T* destination = elements<T>(operands, 1);
    rectifyAll(source, destination, r.count, static_cast<float>(r.slope));
  };
}

template <class T>
Launch rectifierBackward(const Rectifier& r) {
  return [r](const std::vector<Operand>& operands, const StepParameters&) {
    const T* output = elements<const T>(operands, 0);
    const T* outputGradient = elements<const T>(operands, 1);
    T* sourceGradient = elements<T>(operands, 2);
    parallelRanges(r.count, grain, [&](std::int64_t begin, std::int64_t end) {
      rectifyGradient(output + begin, outputGradient + begin, sourceGradient + begin, end - begin, static_cast<float>(r.slope));
    });
  };
}

template <class T>
Launch addForward(const Rectifier& r) {
  return [r](const std::vector<Operand>& operands, const StepParameters&) {
    const T* first = elements<const T>(operands, 0);
    const T* second = elements<const T>(operands, 1);
    T* destination = elements<T>(operands, 2);
    parallelRanges(r.count, grain, [&](std::int64_t begin, std::int64_t end) {
      addRectified(first + begin, second + begin, destination + begin, end - begin, static_cast<float>(r.slope));
    });
  };
}

#define TILEFOLD_INSTANTIATE(T)                                  \
  template void rectifyAll(const T*, T*, std::int64_t, float);   \
  template Launch rectifierForward<T>(const Rectifier&);         \
  template Launch rectifierBackward<T>(const Rectifier&);        \
  template Launch addForward<T>(const Rectifier&);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

Launch sgd(const Sgd& s) {
  return [s](const std::vector<Operand>& operands, const StepParameters& parameters) {
    float* weights = elements(operands, 0);
    const float* gradient = elements<const float>(operands, 1);
    float* velocity = elements(operands, 2);
    const SgdStep step{static_cast<float>(parameters.learningRate * s.rate), static_cast<float>(s.momentum),
                       static_cast<float>(s.weightDecay), parameters.step == 0};
    parallelRanges(s.count, grain, [&](std::int64_t begin, std::int64_t end) {
      sgdUpdate(step, weights + begin, gradient + begin, velocity == nullptr ? nullptr : velocity + begin, end - begin);
    });
  };
}

Launch adam(const Adam& a) {
  return [a](const std::vector<Operand>& operands, const StepParameters& parameters) {
    float* weights = elements(operands, 0);
    const float* gradient = elements<const float>(operands, 1);
    float* firstMoment = elements(operands, 2);
    float* secondMoment = elements(operands, 3);
    const double t = static_cast<double>(parameters.step) + 1, rate = parameters.learningRate * a.rate;
    AdamStep step{};
    step.beta1 = static_cast<float>(a.beta1);
    step.beta2 = static_cast<float>(a.beta2);
    step.rest1 = static_cast<float>(1 - a.beta1);
    step.rest2 = static_cast<float>(1 - a.beta2);
    step.epsilon = static_cast<float>(a.epsilon);
    step.decay = a.decoupled ? 0 : static_cast<float>(a.weightDecay);
    step.shrink = a.decoupled ? static_cast<float>(1 - rate * a.weightDecay) : 1;
    step.stepSize = static_cast<float>(rate / (1 - std::pow(a.beta1, t)));
    step.secondCorrection = static_cast<float>(std::sqrt(1 - std::pow(a.beta2, t)));
    parallelRanges(a.count, grain, [&](std::int64_t begin, std::int64_t end) {
      adamUpdate(step, weights + begin, gradient + begin, firstMoment + begin, secondMoment + begin, end - begin);
    });
  };
}

Launch zero(const Zero& z) {
  return [z](const std::vector<Operand>& operands, const StepParameters&) {
    std::byte* destination = operands[0].address;
    parallelRanges(z.bytes, 4 * grain, [&](std::int64_t begin, std::int64_t end) {
      std::memset(destination + begin, 0, static_cast<std::size_t>(end - begin));
    });
  };
}

}  // namespace tilefold::cpu
