// Normalisation by statistics, and its gradients. Semantics: reference/normalisation.cpp.
#include "../../kernels/normalisation.hpp"
#include "../../kernels/rectifier.hpp"
#include "channel_loop.cuh"
#include "compiled.hpp"
#include "families.hpp"
#include "normalise.hpp"

namespace tilefold::cuda {
namespace {

// A channel's gradient: gradient * y's + source * (x - mean) + constant, where y's has passed the
// rectifier.
struct GradientConstants {
  Normaliser<float> normaliser;
  float gradient, source, constant;
};

// As in Normaliser, what the mean lost to rounding is in the constant.
template <class T>
__device__ GradientConstants gradientConstants(const Normalise& n, const NormaliseOperands<T>& operands, const GradientSums* sums,
                                               std::int64_t image, std::int64_t channel) {
  const Moments& row = operands.row(n, image, channel);
  const Normaliser<float> normaliser = operands.normaliser(n, image, channel);
  const double scale = row.reciprocalDeviation(n.epsilon);
  const GradientSums mean = sums == nullptr ? GradientSums{} : meanGradients(n, operands, sums, image, channel);
  const double source = -scale * scale * mean.product, constant = -scale * mean.gradient - source * normaliser.lost(row);
  return {normaliser, static_cast<float>(scale * operands.weight(channel)), static_cast<float>(source), static_cast<float>(constant)};
}

// What gradients of x are made of, in packs; `before` is what they are added to.
template <class T, int n>
struct GradientTerms {
  Loaded<T, n> values, passed, before;
};

template <bool add, class T>
void backward(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, const GradientSums* sums,
              T* sourceGradient) {
  // Where neither sums nor a rectifier ask for it, x is not read: its coefficients are 0.
  const T* source = sums == nullptr && n.slope == 1 ? operands.gradient : operands.source;
  const T* gradient = operands.gradient;
  const float slope = static_cast<float>(n.slope);
  forEachOfChannels<T, 2>(
      context, "normaliseBackward", n, n.perImage, {source, gradient, sourceGradient},
      [=] __device__(std::int64_t image, std::int64_t channel) { return gradientConstants(n, operands, sums, image, channel); },
      [=] __device__(auto values, std::int64_t i) {
        using Values = Loaded<T, decltype(values)::width>;
        return GradientTerms<T, decltype(values)::width>{Values(source + i), Values(gradient + i), add ? Values(sourceGradient + i) : Values()};
      },
      [=] __device__(const auto& terms, std::int64_t i, const auto& constants) {
        const auto values = terms.values.values(), passed = terms.passed.values();
        auto gradients = add ? terms.before.values() : values;
        for (int k = 0; k < values.width; ++k) {
          const GradientConstants of = constants(k);
          const float dy = rectified(of.normaliser(values[k]), passed[k], slope);
          const float dx = of.gradient * dy + ((values[k] - of.normaliser.mean) * of.source + of.constant);
          gradients[k] = add ? gradients[k] + dx : dx;
        }
        gradients.store(sourceGradient + i);
      });
}

// Source and destination may coincide.
template <class T>
void normaliseForward(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, T* destination) {
  const T* source = operands.source;
  const float slope = static_cast<float>(n.slope);
  forEachOfChannels<T, 3>(
      context, "normaliseForward", n, n.perImage, {source, destination},
      [=] __device__(std::int64_t image, std::int64_t channel) { return operands.normaliser(n, image, channel); },
      [=] __device__(auto values, std::int64_t i) { return Loaded<T, decltype(values)::width>(source + i); },
      [=] __device__(const auto& loaded, std::int64_t i, const auto& normaliser) {
        auto values = loaded.values();
        for (int k = 0; k < values.width; ++k) values[k] = rectified(normaliser(k)(values[k]), slope);
        values.store(destination + i);
      });
}

template <class T, int n>
struct SumTerms {
  Loaded<T, n> source, other;
};

template <class T>
void forwardAndAdd(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, const SumBehind<T>& sum) {
  const T *source = operands.source, *other = sum.other;
  T *destination = sum.destination, *stored = sum.normalised;
  const float slope = static_cast<float>(n.slope), sumSlope = static_cast<float>(sum.slope);
  forEachOfChannels<T, 3>(
      context, "normaliseForward", n, n.perImage, {source, other, destination, stored},
      [=] __device__(std::int64_t image, std::int64_t channel) { return operands.normaliser(n, image, channel); },
      [=] __device__(auto values, std::int64_t i) {
        using Values = Loaded<T, decltype(values)::width>;
        return SumTerms<T, decltype(values)::width>{Values(source + i), Values(other + i)};
      },
      [=] __device__(const auto& terms, std::int64_t i, const auto& normaliser) {
        auto values = terms.source.values();
        const auto others = terms.other.values();
        // Rounded as if it had been stored.
        for (int k = 0; k < values.width; ++k)
          values[k] = static_cast<float>(static_cast<T>(rectified(normaliser(k)(values[k]), slope)));
        if (stored != nullptr) values.store(stored + i);
        for (int k = 0; k < values.width; ++k) values[k] = rectified(values[k] + others[k], sumSlope);
        values.store(destination + i);
      });
}

// `sums` may be null; the gradients may be one.
template <class T>
void normaliseBackward(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, const GradientSums* sums,
                       T* sourceGradient) {
  if (n.add)
    backward<true>(context, n, operands, sums, sourceGradient);
  else
    backward<false>(context, n, operands, sums, sourceGradient);
}

}  // namespace

template <class T>
void normaliseForwardAndAdd(const Context& context, const Normalise& n, const NormaliseOperands<T>& operands, const SumBehind<T>& sum) {
  forwardAndAdd(context, n, operands, sum);
}
template void normaliseForwardAndAdd<float>(const Context&, const Normalise&, const NormaliseOperands<float>&, const SumBehind<float>&);
template void normaliseForwardAndAdd<Bfloat16>(const Context&, const Normalise&, const NormaliseOperands<Bfloat16>&,
                                               const SumBehind<Bfloat16>&);

template <class T>
std::unique_ptr<CompiledKernel> compileNormalise(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::normaliseForward:
      return compiledWaiting(context, kernel, [n = tiled<Normalise>(kernel)](const A& a) {
        normaliseForward<T>(a.context, n, {a.at<T>(0), a.at<Moments>(1), a.at(2), a.at(3), nullptr}, a.at<T>(4));
      });
    case KernelKind::normaliseBackward:
      return compiled(context, [n = tiled<Normalise>(kernel)](const A& a) {
        normaliseBackward<T>(a.context, n, {a.at<T>(0), a.at<Moments>(1), a.at(2), a.at(3), a.at<T>(5)}, a.at<GradientSums>(4), a.at<T>(6));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileNormalise)

}  // namespace tilefold::cuda
