#include "activation.cuh"
#include "loss.hpp"
#include "reduction.cuh"

namespace tilefold::cuda {
namespace {

// Differences between a tile and the target, which is plain and strided.
struct Differences {
  Activation tile;
  std::int64_t strideBatch, strideChannel, strideHeight;
  const float *source, *target;

  Differences(const SquaredError& s, const float* values, const float* targets)
      : tile(s.layout, s.channels, s.height, s.width),
        strideBatch(s.strideBatch),
        strideChannel(s.strideChannel),
        strideHeight(s.strideHeight),
        source(values),
        target(targets) {}

  __device__ double at(std::int64_t i) const {
    const Place p = tile.place(i);
    const float wanted = target[p.image * strideBatch + p.channel * strideChannel + p.row * strideHeight + p.column];
    return static_cast<double>(source[i]) - static_cast<double>(wanted);
  }
  // As a term of the sum: its square.
  __device__ double operator()(std::int64_t i) const {
    const double difference = at(i);
    return difference * difference;
  }
};

std::int64_t elements(const Tile& t) { return t.batch * t.channels * t.height * t.width; }

}  // namespace

void meanSquaredErrorForward(const Context& context, const SquaredError& s, const float* source, const float* target, double* loss) {
  const Differences differences(s, source, target);
  const double count = static_cast<double>(s.count);
  forEachSum<1>(
      context, "meanSquaredErrorForward", 1, elements(s), [=] __device__(std::int64_t) { return differences; },
      [=] __device__(std::int64_t, double sum) { *loss += sum / count; });
}

void meanSquaredErrorBackward(const Context& context, const SquaredError& s, const float* source, const float* target,
                              float* sourceGradient) {
  const Differences differences(s, source, target);
  const double count = static_cast<double>(s.count);
  forEach(context, "meanSquaredErrorBackward", elements(s),
          [=] __device__(std::int64_t i) { sourceGradient[i] = static_cast<float>(2 * differences.at(i) / count); });
}

}  // namespace tilefold::cuda
