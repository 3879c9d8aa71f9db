#include "bias.hpp"

#include <array>

#include "../../reference/block_loop.hpp"
#include "../processor/parallel.hpp"
#include "../vectors/lane_loops.hpp"
#include "../vectors/pixel_loops.hpp"

namespace tilefold::cpu {

using reference::Planes;

template <class T>
Launch addBias(const Tile& t) {
  const Planes planes = reference::planesOf(t);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const float* bias = elements<const float>(operands, 0);
    T* destination = elements<T>(operands, 1);
    parallelFor(planes.count * t.height, [&](std::int64_t row) {
      const std::int64_t plane = row / t.height;
      const float* first = bias + planes.firstChannel(plane);
      std::array<float, 16> lanes{};
      std::copy(first, first + planes.lanes(plane), lanes.begin());
      addToPixels(lanes.data(), destination + row * t.width * planes.block, t.width, planes.block);
    });
  };
}

template <class T>
Launch sumBias(const Tile& t) {
  const Planes planes = reference::planesOf(t);
  constexpr std::int64_t grain = 16384;  // pixels
  const std::int64_t pixels = t.height * t.width, pieces = (pixels + grain - 1) / grain;
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const T* gradient = elements<const T>(operands, 0);
    float* biasGradient = elements(operands, 1);
    std::vector<std::array<double, 16>> sums(static_cast<std::size_t>(planes.count * pieces));
    parallelFor(planes.count * pieces, [&](std::int64_t index) {
      const std::int64_t plane = index / pieces, begin = index % pieces * grain;
      addPixels(gradient + (plane * pixels + begin) * planes.block, sums[static_cast<std::size_t>(index)].data(),
                std::min(grain, pixels - begin), planes.block);
    });
    for (std::int64_t channel = 0; channel < t.channels; ++channel) {
      double sum = 0;
      for (std::int64_t image = 0; image < t.batch; ++image)
        for (std::int64_t piece = 0; piece < pieces; ++piece)
          sum += sums[static_cast<std::size_t>((image * planes.blocks + channel / planes.block) * pieces + piece)]
                     [static_cast<std::size_t>(channel % planes.block)];
      biasGradient[channel] = static_cast<float>(sum);
    }
  };
}

template <class T>
Launch sumBiasOf(const Convolution& c) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  return sumBias<T>(decode<Tile>(
      {KernelKind::sumBias, {number(c.batch), number(c.outChannels), number(c.outHeight), number(c.outWidth), number(c.destinationLayout)}}));
}

#define TILEFOLD_INSTANTIATE(T)            \
  template Launch addBias<T>(const Tile&); \
  template Launch sumBias<T>(const Tile&); \
  template Launch sumBiasOf<T>(const Convolution&);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
