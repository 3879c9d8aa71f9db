// Updates of weights, in place. Semantics: reference/optimizer.cpp; learning rate and step number
// are the device's.
#include "compiled.hpp"
#include "element_loop.cuh"
#include "families.hpp"
#include "small_launch.cuh"

namespace tilefold::cuda {
namespace {

// Adam's numbers without what changes from step to step.
struct AdamFields {
  std::int64_t count;
  double rate, weightDecay, beta1, beta2, epsilon;
  bool decoupled;
};

struct AdamFactors {
  float stepSize, secondCorrection, shrink;
};

__device__ AdamFactors factorsOf(const AdamFields& a, const StepBlock& step) {
  const double count = static_cast<double>(step.step) + 1, rate = step.learningRate * a.rate;
  return {static_cast<float>(rate / (1 - pow(a.beta1, count))), static_cast<float>(sqrt(1 - pow(a.beta2, count))),
          static_cast<float>(a.decoupled ? 1 - rate * a.weightDecay : 1)};
}

__global__ void __launch_bounds__(blockThreads) updateAdam(std::int64_t packs, AdamFields a, const StepBlock* step, const Fault* fault,
                                                           float* weights, const float* gradient, float* firstMoment, float* secondMoment) {
  if (fault->kind != 0) return;  // the gradients are none
  __shared__ AdamFactors factors;
  // Powers in double are dear: one thread of a block takes them.
  if (threadIdx.x == 0) factors = factorsOf(a, *step);
  __syncthreads();
  const AdamFactors f = factors;
  const float decay = static_cast<float>(a.decoupled ? 0 : a.weightDecay), epsilon = static_cast<float>(a.epsilon);
  const float beta1 = static_cast<float>(a.beta1), fresh1 = static_cast<float>(1 - a.beta1);
  const float beta2 = static_cast<float>(a.beta2), fresh2 = static_cast<float>(1 - a.beta2);
  visitPacks<packWidth>(packs, a.count, [=](auto w, std::int64_t i) {
    auto g = w, first = w, second = w;
    w.load(weights + i);
    g.load(gradient + i);
    first.load(firstMoment + i);
    second.load(secondMoment + i);
    for (int k = 0; k < w.width; ++k) {
      const float slope = g[k] + decay * w[k];
      first[k] = beta1 * first[k] + fresh1 * slope;
      second[k] = beta2 * second[k] + fresh2 * slope * slope;
      w[k] = f.shrink * w[k] - f.stepSize * first[k] / (sqrtf(second[k]) / f.secondCorrection + epsilon);
    }
    first.store(firstMoment + i);
    second.store(secondMoment + i);
    w.store(weights + i);
  });
}

// `velocity` may be null when momentum is 0.
struct SgdPart {
  static constexpr const char* name = "sgd";
  std::int64_t count, packs;
  float* weights;
  const float* gradient;
  float* velocity;
  double baseRate;
  float decay, momentum;

  template <class Values>
  __device__ void operator()(Values w, std::int64_t i, const StepOnDevice& at) const {
    if (at.fault->kind != 0) return;  // the gradients are none
    const float rate = static_cast<float>(at.step->learningRate * baseRate);
    auto change = w, v = w;
    w.load(weights + i);
    change.load(gradient + i);
    for (int k = 0; k < w.width; ++k) change[k] += decay * w[k];
    if (velocity != nullptr) {
      if (at.step->step > 0) {
        v.load(velocity + i);
        for (int k = 0; k < w.width; ++k) change[k] += momentum * v[k];
      }
      change.store(velocity + i);
    }
    for (int k = 0; k < w.width; ++k) w[k] -= rate * change[k];
    w.store(weights + i);
  }
};

SmallLaunch sgd(const Sgd& s, float* weights, const float* gradient, float* velocity) {
  const std::int64_t packs = aligned({weights, gradient, velocity}) ? s.count / packWidth : 0;
  const std::int64_t bytes = s.count * static_cast<std::int64_t>(sizeof(float));
  return smallLaunch(
      SgdPart{s.count, packs, weights, gradient, velocity, s.rate, static_cast<float>(s.weightDecay), static_cast<float>(s.momentum)},
      {{weights, bytes}, {gradient, bytes}, {velocity, bytes}});
}

void adam(const Context& context, const Adam& a, float* weights, const float* gradient, float* firstMoment, float* secondMoment) {
  const AdamFields fields{a.count, a.rate, a.weightDecay, a.beta1, a.beta2, a.epsilon, a.decoupled};
  const std::int64_t packs = aligned({weights, gradient, firstMoment, secondMoment}) ? a.count / packWidth : 0;
  // As many blocks as run at once, so that the powers are taken once a block.
  const std::int64_t blocks = std::min<std::int64_t>(blocksFor(context, packs > 0 ? packs : a.count), context.multiprocessors * 8);
  launchKernel(context, "adam", updateAdam, blocks, blockThreads, packs, fields, context.step, context.fault, weights, gradient,
               firstMoment, secondMoment);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileOptimizer(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::sgd:
      return compiledSmall(context, [s = decode<Sgd>(kernel)](const A& a) { return sgd(s, a.at(0), a.at(1), a.at(2)); });
    case KernelKind::adam:
      return compiled(context, [o = decode<Adam>(kernel)](const A& a) { adam(a.context, o, a.at(0), a.at(1), a.at(2), a.at(3)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileOptimizer)

}  // namespace tilefold::cuda
