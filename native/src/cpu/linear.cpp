#include "linear.hpp"

#include <array>

#include "processor/parallel.hpp"
#include "vectors/vector_loops.hpp"

namespace tilefold::cpu {
namespace {

// Sums of a strip of the result, for some of the images. They stay in a cache, and take no memory
// that grows with the layer, since it would come beside the budget.
constexpr std::int64_t mostSums = 65536, mostImages = 16;

}  // namespace

template <class T>
Launch linearForward(const Linear& l) {
  return [l](const std::vector<Operand>& operands, const StepParameters&) {
    const T* source = elements<const T>(operands, 0);
    const T* weights = elements<const T>(operands, 1);
    const float* bias = elements<const float>(operands, 2);
    T* destination = elements<T>(operands, 3);
    parallelFor(l.outFeatures, [&](std::int64_t o) {
      for (std::int64_t b = 0; b < l.batch; ++b)
        destination[b * l.outFeatures + o] =
            T(dot(source + b * l.inFeatures, weights + o * l.inFeatures, l.inFeatures) + (bias == nullptr ? 0 : bias[o]));
    });
  };
}

template <class T>
Launch linearBackwardData(const Linear& l) {
  return [l](const std::vector<Operand>& operands, const StepParameters&) {
    const T* destinationGradient = elements<const T>(operands, 0);
    const T* weights = elements<const T>(operands, 1);
    T* sourceGradient = elements<T>(operands, 2);
    // Strips of the result, as many for each thread; the weights stream past, row by row.
    const std::int64_t images = std::min(l.batch, mostImages);
    const std::int64_t strips = roundUp(ceilDivide(l.inFeatures, mostSums / images), omp_get_max_threads());
    const std::int64_t columns = std::max<std::int64_t>(1024, ceilDivide(l.inFeatures, strips));
    parallelRanges(l.inFeatures, columns, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t width = end - begin;
      std::array<float, mostSums> sums;
      for (std::int64_t first = 0; first < l.batch; first += images) {
        const std::int64_t count = std::min(images, l.batch - first);
        std::fill_n(sums.begin(), count * width, 0.0F);
        for (std::int64_t o = 0; o < l.outFeatures; ++o)
          for (std::int64_t b = 0; b < count; ++b)
            addScaled(destinationGradient[(first + b) * l.outFeatures + o], weights + o * l.inFeatures + begin, sums.data() + b * width,
                      width);
        for (std::int64_t b = 0; b < count; ++b)
          convert(sums.data() + b * width, sourceGradient + (first + b) * l.inFeatures + begin, width);
      }
    });
  };
}

template <class T>
Launch linearBackwardWeights(const Linear& l) {
  return [l](const std::vector<Operand>& operands, const StepParameters&) {
    const T* source = elements<const T>(operands, 0);
    const T* destinationGradient = elements<const T>(operands, 1);
    float* weightGradient = elements(operands, 2);
    float* biasGradient = elements(operands, 3);
    parallelFor(l.outFeatures, [&](std::int64_t o) {
      float* row = weightGradient + o * l.inFeatures;
      multiply(destinationGradient[o], source, row, l.inFeatures);
      for (std::int64_t b = 1; b < l.batch; ++b)
        addScaled(destinationGradient[b * l.outFeatures + o], source + b * l.inFeatures, row, l.inFeatures);
      if (biasGradient == nullptr) return;
      double sum = 0;
      for (std::int64_t b = 0; b < l.batch; ++b) sum += static_cast<double>(static_cast<float>(destinationGradient[b * l.outFeatures + o]));
      biasGradient[o] = static_cast<float>(sum);
    });
  };
}

#define TILEFOLD_INSTANTIATE(T)                        \
  template Launch linearForward<T>(const Linear&);      \
  template Launch linearBackwardData<T>(const Linear&); \
  template Launch linearBackwardWeights<T>(const Linear&);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
