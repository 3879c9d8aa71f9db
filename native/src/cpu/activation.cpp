#include "activation.hpp"

#include "../reference/block_loop.hpp"
#include "activation_loops.hpp"
#include "parallel.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t grain = 16384;  // elements

std::int64_t elementsOf(const Activation& a) { return activationElements(a.layout, a.batch, a.channels, a.height, a.width); }

// sigmoid(0) is not 0.
void zeroPadding(const Activation& a, float* activation) {
  const reference::Planes planes = reference::planesOf(a);
  const std::int64_t pixels = a.height * a.width;
  for (std::int64_t plane = planes.blocks - 1; plane < planes.count; plane += planes.blocks)
    for (std::int64_t pixel = plane * pixels; pixel < (plane + 1) * pixels; ++pixel)
      std::fill(activation + pixel * planes.block + planes.lanes(plane), activation + (pixel + 1) * planes.block, 0.0F);
}

}  // namespace

Launch activationForward(const Activation& a) {
  return [a, count = elementsOf(a)](const std::vector<Operand>& operands, const StepParameters&) {
    const float* source = elements<const float>(operands, 0);
    float* destination = elements(operands, 1);
    parallelRanges(count, grain,
                   [&](std::int64_t begin, std::int64_t end) { activate(functionOf(a), source + begin, destination + begin, end - begin); });
    if (functionOf(a) == ActivationFunction::sigmoid) zeroPadding(a, destination);
  };
}

Launch activationBackward(const Activation& a) {
  return [a, count = elementsOf(a)](const std::vector<Operand>& operands, const StepParameters&) {
    const float* kept = elements<const float>(operands, 0);
    const float* gradient = elements<const float>(operands, 1);
    float* sourceGradient = elements(operands, 2);
    parallelRanges(count, grain, [&](std::int64_t begin, std::int64_t end) {
      activateGradient(functionOf(a), kept + begin, gradient + begin, sourceGradient + begin, end - begin);
    });
  };
}

}  // namespace tilefold::cpu
