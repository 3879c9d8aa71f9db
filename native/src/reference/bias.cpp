#include "bias.hpp"

#include "block_loop.hpp"

namespace tilefold::reference {

template <class T>
void addBias(const Tile& t, const ParameterOf<T>* bias, T* destination) {
  const Planes planes = planesOf(t);
  const std::int64_t pixels = t.height * t.width;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    const ParameterOf<T>* added = bias + planes.firstChannel(plane);
    T* values = destination + plane * pixels * planes.block;
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane) values[pixel * planes.block + lane] += added[lane];
  }
}

template <class T>
void sumBias(const Tile& t, const T* destinationGradient, ParameterOf<T>* biasGradient) {
  const Planes planes = planesOf(t);
  const std::int64_t pixels = t.height * t.width;
#pragma omp parallel for schedule(static)
  for (std::int64_t channel = 0; channel < t.channels; ++channel) {
    double sum = 0;
    for (std::int64_t image = 0; image < t.batch; ++image) {
      const std::int64_t plane = image * planes.blocks + channel / planes.block;
      const T* values = destinationGradient + plane * pixels * planes.block + channel % planes.block;
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) sum += static_cast<double>(values[pixel * planes.block]);
    }
    biasGradient[channel] = static_cast<ParameterOf<T>>(sum);
  }
}

#define TILEFOLD_INSTANTIATE(T)                                     \
  template void addBias<T>(const Tile&, const ParameterOf<T>*, T*); \
  template void sumBias<T>(const Tile&, const T*, ParameterOf<T>*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(double)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::reference
