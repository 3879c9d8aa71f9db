// Element by element: rectifiers, sums and dropout.
#include "../kernels/element_draw.hpp"
#include "../kernels/rectifier.hpp"
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// Source and destination may coincide.
template <class T>
void rectifierForward(const Rectifier& r, const T* source, T* destination) {
  const auto slope = static_cast<ParameterOf<T>>(r.slope);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < r.count; ++i) destination[i] = rectified<ParameterOf<T>>(source[i], slope);
}

// Either gradient may be the other.
template <class T>
void rectifierBackward(const Rectifier& r, const T* destination, const T* destinationGradient, T* sourceGradient) {
  const auto slope = static_cast<ParameterOf<T>>(r.slope);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < r.count; ++i)
    sourceGradient[i] = rectified<ParameterOf<T>>(destination[i], destinationGradient[i], slope);
}

// The destination may be either operand.
template <class T>
void addForward(const Rectifier& r, const T* first, const T* second, T* destination) {
  const auto slope = static_cast<ParameterOf<T>>(r.slope);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < r.count; ++i) destination[i] = rectified<ParameterOf<T>>(first[i] + second[i], slope);
}

// Keeps an element when its own draw says so, whatever tile it is computed in. Source and
// destination may coincide.
template <class T>
void dropout(const Dropout& d, const TileOrigin& origin, std::uint64_t seed, std::uint64_t step, const T* source, T* destination) {
  const Planes planes = planesOf(d);
  const std::int64_t block = planes.block;
  const ElementDraw draw(seed, step, static_cast<std::uint64_t>(d.layerKey));
  const std::uint64_t threshold = ElementDraw::threshold(d.rate);
  const double keptScale = 1 / (1 - d.rate);
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    const std::int64_t image = origin.batch + planes.image(plane);
    for (std::int64_t y = 0; y < d.height; ++y) {
      for (std::int64_t x = 0; x < d.width; ++x) {
        const std::int64_t at = ((plane * d.height + y) * d.width + x) * block;
        for (std::int64_t lane = 0; lane < block; ++lane) {
          const std::int64_t channel = image * d.fullChannels + planes.firstChannel(plane) + lane;
          const std::int64_t element = (channel * d.fullHeight + origin.row + y) * d.fullWidth + origin.column + x;
          const bool keep = lane < planes.lanes(plane) && ElementDraw::drawn(draw.counter(static_cast<std::uint64_t>(element))) >= threshold;
          destination[at + lane] = keep ? static_cast<T>(static_cast<double>(source[at + lane]) * keptScale) : T(0);
        }
      }
    }
  }
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compilePointwise(const Kernel& kernel) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::rectifierForward:
      return compiled([r = decode<Rectifier>(kernel)](const A& a) { rectifierForward<T>(r, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::rectifierBackward:
      return compiled([r = decode<Rectifier>(kernel)](const A& a) { rectifierBackward<T>(r, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::addForward:
      return compiled([r = decode<Rectifier>(kernel)](const A& a) { addForward<T>(r, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::dropout:
      return compiled(
          [d = decode<Dropout>(kernel)](const A& a) { dropout<T>(d, a.origin(2), a.step.seed, a.step.step, a.at<T>(0), a.at<T>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compilePointwise)

}  // namespace tilefold::reference
