#include "pointwise.hpp"

#include "../rectifier.hpp"
#include "block_loop.hpp"

namespace tilefold::reference {

template <class T>
void rectifierForward(const Rectifier& r, const T* source, T* destination) {
  const auto slope = static_cast<ParameterOf<T>>(r.slope);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < r.count; ++i) destination[i] = rectified<ParameterOf<T>>(source[i], slope);
}

template <class T>
void rectifierBackward(const Rectifier& r, const T* destination, const T* destinationGradient, T* sourceGradient) {
  const auto slope = static_cast<ParameterOf<T>>(r.slope);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < r.count; ++i)
    sourceGradient[i] = rectified<ParameterOf<T>>(destination[i], destinationGradient[i], slope);
}

template <class T>
void addForward(const Rectifier& r, const T* first, const T* second, T* destination) {
  const auto slope = static_cast<ParameterOf<T>>(r.slope);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < r.count; ++i) destination[i] = rectified<ParameterOf<T>>(first[i] + second[i], slope);
}

template <class T>
void dropout(const Dropout& d, const TileOrigin& origin, std::uint64_t seed, std::uint64_t step, const T* source, T* destination) {
  const Planes planes = planesOf(d);
  const std::int64_t block = planes.block;
  const ElementDraw draw(seed, step, static_cast<std::uint64_t>(d.layerKey));
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
          const bool keep = lane < planes.lanes(plane) && draw(static_cast<std::uint64_t>(element)) >= d.rate;
          destination[at + lane] = keep ? static_cast<T>(static_cast<double>(source[at + lane]) * keptScale) : T(0);
        }
      }
    }
  }
}

#define TILEFOLD_INSTANTIATE(T)                                                 \
  template void rectifierForward<T>(const Rectifier&, const T*, T*);            \
  template void rectifierBackward<T>(const Rectifier&, const T*, const T*, T*); \
  template void addForward<T>(const Rectifier&, const T*, const T*, T*);        \
  template void dropout<T>(const Dropout&, const TileOrigin&, std::uint64_t, std::uint64_t, const T*, T*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(double)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::reference
