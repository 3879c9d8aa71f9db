// A bias on its own, where no convolution adds it; in any activation layout, padding lanes stay as
// they are.
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

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

// Sums over images and pixels, formed in double.
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

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileBias(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::addBias:
      return compiled([t = decode<Tile>(kernel)](const A& a) { addBias<T>(t, a.at<P>(0), a.at<T>(1)); });
    case KernelKind::sumBias:
      return compiled([t = decode<Tile>(kernel)](const A& a) { sumBias<T>(t, a.at<T>(0), a.at<P>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileBias)

}  // namespace tilefold::reference
