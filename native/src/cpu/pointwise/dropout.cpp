#include "dropout.hpp"

#include "../../kernels/element_draw.hpp"
#include "../../kernels/launch_operands.hpp"
#include "../../reference/block_loop.hpp"
#include "../processor/parallel.hpp"
#include "../vectors/lanes.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t width = 8;
typedef std::uint64_t Draws __attribute__((vector_size(width * sizeof(std::uint64_t))));
typedef std::int64_t Signed __attribute__((vector_size(width * sizeof(std::int64_t))));
typedef double Doubles __attribute__((vector_size(width * sizeof(double))));
using Floats = Lanes<width>::Floats;

// Eight channels of a row's pixels: of each lane the first pixel's counter, and the least draw that
// keeps it.
struct LanesOfRow {
  std::uint64_t counters[width], thresholds[width];
};

template <class T>
TILEFOLD_INLINE void dropLanes(const LanesOfRow& row, double keptScale, const T* source, T* destination, std::int64_t count,
                               std::int64_t step) {
  Draws counters, thresholds;
  std::memcpy(&counters, row.counters, sizeof(counters));
  std::memcpy(&thresholds, row.thresholds, sizeof(thresholds));
  for (std::int64_t at = 0; at < count * step; at += step, counters += ElementDraw::step) {
    // Both are below 2^54, so the sign is the comparison's.
    const Signed drops = reinterpret_cast<Signed>(ElementDraw::drawn(counters) - thresholds) >> 63;
    const Floats value = Lanes<width>::at(source + at);
    const Doubles scaled = __builtin_convertvector(value, Doubles) * keptScale;
    const Doubles kept = reinterpret_cast<Doubles>(~drops & reinterpret_cast<Signed>(scaled));
    Lanes<width>::put(destination + at, __builtin_convertvector(kept, Floats));
  }
}

}  // namespace

template <class T>
Launch dropout(const Dropout& d) {
  return [d](const std::vector<Operand>& operands, const StepParameters& step) {
    const TileOrigin origin = LaunchOperands{operands}.origin(2);
    const T* source = elements<const T>(operands, 0);
    T* destination = elements<T>(operands, 1);
    const reference::Planes planes = reference::planesOf(d);
    const ElementDraw draw(step.seed, step.step, static_cast<std::uint64_t>(d.layerKey));
    const double keptScale = 1 / (1 - d.rate);
    parallelFor(planes.count * d.height, [&](std::int64_t job) {
      const std::int64_t plane = job / d.height, y = job % d.height, row = job * d.width * planes.block;
      for (std::int64_t lane = 0; lane < planes.block; lane += width) {
        LanesOfRow lanes{};
        for (std::int64_t i = 0; i < width; ++i) {
          const std::int64_t channel = (origin.batch + planes.image(plane)) * d.fullChannels + planes.firstChannel(plane) + lane + i;
          const std::int64_t element = (channel * d.fullHeight + origin.row + y) * d.fullWidth + origin.column;
          lanes.counters[i] = draw.counter(static_cast<std::uint64_t>(element));
          // No draw keeps what is padding.
          lanes.thresholds[i] = ElementDraw::threshold(lane + i < planes.lanes(plane) ? d.rate : 1);
        }
        forProcessor([=, &lanes]() TILEFOLD_INLINED {
          dropLanes(lanes, keptScale, source + row + lane, destination + row + lane, d.width, planes.block);
        });
      }
    });
  };
}

template Launch dropout<float>(const Dropout&);
template Launch dropout<Bfloat16>(const Dropout&);

}  // namespace tilefold::cpu
