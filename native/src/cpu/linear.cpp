#include "linear.hpp"

#include "parallel.hpp"
#include "vector_loops.hpp"

namespace tilefold::cpu {

Launch linearForward(const Linear& l) {
  return [l](const std::vector<Operand>& operands, const StepParameters&) {
    const float* source = elements<const float>(operands, 0);
    const float* weights = elements<const float>(operands, 1);
    const float* bias = elements<const float>(operands, 2);
    float* destination = elements(operands, 3);
    parallelFor(l.outFeatures, [&](std::int64_t o) {
      for (std::int64_t b = 0; b < l.batch; ++b)
        destination[b * l.outFeatures + o] =
            dot(source + b * l.inFeatures, weights + o * l.inFeatures, l.inFeatures) + (bias == nullptr ? 0 : bias[o]);
    });
  };
}

Launch linearBackwardData(const Linear& l) {
  return [l](const std::vector<Operand>& operands, const StepParameters&) {
    const float* destinationGradient = elements<const float>(operands, 0);
    const float* weights = elements<const float>(operands, 1);
    float* sourceGradient = elements(operands, 2);
    // A strip of the result a thread: it stays in a cache while the weights stream past, row after
    // row.
    const std::int64_t columns = std::max<std::int64_t>(1024, roundUp(l.inFeatures, omp_get_max_threads()) / omp_get_max_threads());
    parallelRanges(l.inFeatures, columns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = 0; b < l.batch; ++b) fill(0, sourceGradient + b * l.inFeatures + begin, end - begin);
      for (std::int64_t o = 0; o < l.outFeatures; ++o)
        for (std::int64_t b = 0; b < l.batch; ++b)
          addScaled(destinationGradient[b * l.outFeatures + o], weights + o * l.inFeatures + begin,
                    sourceGradient + b * l.inFeatures + begin, end - begin);
    });
  };
}

Launch linearBackwardWeights(const Linear& l) {
  return [l](const std::vector<Operand>& operands, const StepParameters&) {
    const float* source = elements<const float>(operands, 0);
    const float* destinationGradient = elements<const float>(operands, 1);
    float* weightGradient = elements(operands, 2);
    float* biasGradient = elements(operands, 3);
    parallelFor(l.outFeatures, [&](std::int64_t o) {
      float* row = weightGradient + o * l.inFeatures;
      multiply(destinationGradient[o], source, row, l.inFeatures);
      for (std::int64_t b = 1; b < l.batch; ++b)
        addScaled(destinationGradient[b * l.outFeatures + o], source + b * l.inFeatures, row, l.inFeatures);
      if (biasGradient == nullptr) return;
      double sum = 0;
      for (std::int64_t b = 0; b < l.batch; ++b) sum += static_cast<double>(destinationGradient[b * l.outFeatures + o]);
      biasGradient[o] = static_cast<float>(sum);
    });
  };
}

}  // namespace tilefold::cpu
