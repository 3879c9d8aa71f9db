// The fully connected layer; everything plain, sums in double.
#include <algorithm>

#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

constexpr std::int64_t chunkFeatures = 256;  // input features whose sums are held at once

// y[b, o] = sum_i x[b, i] w[o, i] + bias[o]; `bias` may be null.
template <class T>
void linearForward(const Linear& l, const T* source, const T* weights, const ParameterOf<T>* bias, T* destination) {
#pragma omp parallel for schedule(static)
  for (std::int64_t o = 0; o < l.outFeatures; ++o) {
    for (std::int64_t b = 0; b < l.batch; ++b) {
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t i = 0; i < l.inFeatures; ++i)
        sum += static_cast<double>(source[b * l.inFeatures + i]) * static_cast<double>(weights[o * l.inFeatures + i]);
      destination[b * l.outFeatures + o] = static_cast<T>(sum + (bias == nullptr ? 0.0 : static_cast<double>(bias[o])));
    }
  }
}

template <class T>
void linearBackwardData(const Linear& l, const T* destinationGradient, const T* weights, T* sourceGradient) {
  const std::int64_t chunks = (l.inFeatures + chunkFeatures - 1) / chunkFeatures;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t b = 0; b < l.batch; ++b) {
    for (std::int64_t part = 0; part < chunks; ++part) {
      const std::int64_t first = part * chunkFeatures, count = std::min(chunkFeatures, l.inFeatures - first);
      double sums[chunkFeatures] = {};
      for (std::int64_t o = 0; o < l.outFeatures; ++o) {
        const double gradient = destinationGradient[b * l.outFeatures + o];
        const T* row = weights + o * l.inFeatures + first;
        for (std::int64_t i = 0; i < count; ++i) sums[i] += gradient * static_cast<double>(row[i]);
      }
      for (std::int64_t i = 0; i < count; ++i) sourceGradient[b * l.inFeatures + first + i] = static_cast<T>(sums[i]);
    }
  }
}

// `biasGradient` may be null.
template <class T>
void linearBackwardWeights(const Linear& l, const T* source, const T* destinationGradient, ParameterOf<T>* weightGradient,
                           ParameterOf<T>* biasGradient) {
#pragma omp parallel for schedule(static)
  for (std::int64_t o = 0; o < l.outFeatures; ++o) {
    for (std::int64_t first = 0; first < l.inFeatures; first += chunkFeatures) {
      const std::int64_t count = std::min(chunkFeatures, l.inFeatures - first);
      double sums[chunkFeatures] = {};
      for (std::int64_t b = 0; b < l.batch; ++b) {
        const double gradient = destinationGradient[b * l.outFeatures + o];
        const T* row = source + b * l.inFeatures + first;
        for (std::int64_t i = 0; i < count; ++i) sums[i] += gradient * static_cast<double>(row[i]);
      }
      for (std::int64_t i = 0; i < count; ++i) weightGradient[o * l.inFeatures + first + i] = static_cast<ParameterOf<T>>(sums[i]);
    }
    if (biasGradient == nullptr) continue;
    double sum = 0;
    for (std::int64_t b = 0; b < l.batch; ++b) sum += static_cast<double>(destinationGradient[b * l.outFeatures + o]);
    biasGradient[o] = static_cast<ParameterOf<T>>(sum);
  }
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileLinear(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::linearForward:
      return compiled([l = decode<Linear>(kernel)](const A& a) { linearForward<T>(l, a.at<T>(0), a.at<T>(1), a.at<P>(2), a.at<T>(3)); });
    case KernelKind::linearBackwardData:
      return compiled([l = decode<Linear>(kernel)](const A& a) { linearBackwardData<T>(l, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::linearBackwardWeights:
      return compiled(
          [l = decode<Linear>(kernel)](const A& a) { linearBackwardWeights<T>(l, a.at<T>(0), a.at<T>(1), a.at<P>(2), a.at<P>(3)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileLinear)

}  // namespace tilefold::reference
