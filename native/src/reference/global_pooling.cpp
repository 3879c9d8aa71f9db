// Pooling of whole planes, tile after tile.
#include <vector>

#include "../kernels/maxima.hpp"
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// sum[b, c] += scale * sum of the tile's pixels, formed in double.
template <class T>
void globalAveragePoolForward(const GlobalAveragePool& s, const T* source, ParameterOf<T>* sum) {
  const Planes planes = planesOf(s);
  const std::int64_t block = planes.block, pixels = s.height * s.width;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    const T* in = source + plane * pixels * block;
    std::vector<double> sums(static_cast<std::size_t>(block));
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (std::int64_t lane = 0; lane < block; ++lane)
        sums[static_cast<std::size_t>(lane)] += static_cast<double>(in[pixel * block + lane]);
    ParameterOf<T>* out = sum + planes.image(plane) * s.channels + planes.firstChannel(plane);
    for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane)
      out[lane] = static_cast<ParameterOf<T>>(static_cast<double>(out[lane]) + s.scale * sums[static_cast<std::size_t>(lane)]);
  }
}

template <class T>
void globalAveragePoolBackward(const GlobalAveragePool& s, const T* sumGradient, T* sourceGradient) {
  const Planes planes = planesOf(s);
  const std::int64_t block = planes.block, pixels = s.height * s.width;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    const T* from = sumGradient + planes.image(plane) * s.channels + planes.firstChannel(plane);
    std::vector<T> values(static_cast<std::size_t>(block));
    for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane)
      values[static_cast<std::size_t>(lane)] = static_cast<T>(s.scale * static_cast<double>(from[lane]));
    T* gradient = sourceGradient + plane * pixels * block;
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (std::int64_t lane = 0; lane < block; ++lane) gradient[pixel * block + lane] = values[static_cast<std::size_t>(lane)];
  }
}

// Takes the tile's elements, whose plane begins at `origin`, into maxima[b, c]; destination[b, c]
// is what is then the largest.
template <class T>
void globalMaxPoolForward(const PlacedTile& t, const TileOrigin& origin, const T* source, Maximum* maxima, T* destination) {
  const Planes planes = planesOf(t);
  const std::int64_t block = planes.block;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    const T* in = source + plane * t.height * t.width * block;
    const std::int64_t first = planes.image(plane) * t.channels + planes.firstChannel(plane);
    std::vector<Maximum> largest(static_cast<std::size_t>(block), Maximum{});
    for (std::int64_t y = 0; y < t.height; ++y)
      for (std::int64_t x = 0; x < t.width; ++x) {
        const auto place = static_cast<double>((origin.row + y) * t.fullWidth + origin.column + x + 1);
        for (std::int64_t lane = 0; lane < block; ++lane) {
          const auto value = static_cast<double>(*in++);
          Maximum& best = largest[static_cast<std::size_t>(lane)];
          if (best.place == 0 || !(value <= best.value)) best += Maximum{value, place};
        }
      }
    for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane) {
      Maximum& merged = maxima[first + lane] += largest[static_cast<std::size_t>(lane)];
      destination[first + lane] = static_cast<T>(merged.value);
    }
  }
}

// Parts of all ranks; destination[row] is what is largest.
template <class T>
void mergeMaxima(const MergeParts& m, const Maximum* source, Maximum* maxima, T* destination) {
  for (std::int64_t row = 0; row < m.rows; ++row) {
    Maximum merged{};
    for (std::int64_t part = 0; part < m.parts; ++part) merged += source[part * m.rows + row];
    maxima[row] = merged;
    destination[row] = static_cast<T>(merged.value);
  }
}

// All zero but where the largest stands, if that is in the tile.
template <class T>
void globalMaxPoolBackward(const PlacedTile& t, const TileOrigin& origin, const T* destinationGradient, const Maximum* maxima,
                           T* sourceGradient) {
  const Planes planes = planesOf(t);
  const std::int64_t block = planes.block;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    T* gradient = sourceGradient + plane * t.height * t.width * block;
    const std::int64_t first = planes.image(plane) * t.channels + planes.firstChannel(plane);
    for (std::int64_t y = 0; y < t.height; ++y)
      for (std::int64_t x = 0; x < t.width; ++x) {
        const auto place = static_cast<double>((origin.row + y) * t.fullWidth + origin.column + x + 1);
        for (std::int64_t lane = 0; lane < block; ++lane)
          *gradient++ = lane < planes.lanes(plane) && maxima[first + lane].place == place ? destinationGradient[first + lane] : T(0);
      }
  }
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileGlobalPooling(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::globalAveragePoolForward:
      return compiled([s = decode<GlobalAveragePool>(kernel)](const A& a) { globalAveragePoolForward<T>(s, a.at<T>(0), a.at<P>(1)); });
    case KernelKind::globalAveragePoolBackward:
      return compiled([s = decode<GlobalAveragePool>(kernel)](const A& a) { globalAveragePoolBackward<T>(s, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::globalMaxPoolForward:
      return compiled([t = decode<PlacedTile>(kernel)](const A& a) {
        globalMaxPoolForward<T>(t, a.originInPlane(3), a.at<T>(0), a.at<Maximum>(1), a.at<T>(2));
      });
    case KernelKind::mergeMaxima:
      return compiled([m = decode<MergeParts>(kernel)](const A& a) { mergeMaxima<T>(m, a.at<Maximum>(0), a.at<Maximum>(1), a.at<T>(2)); });
    case KernelKind::globalMaxPoolBackward:
      return compiled([t = decode<PlacedTile>(kernel)](const A& a) {
        globalMaxPoolBackward<T>(t, a.originInPlane(3), a.at<T>(0), a.at<Maximum>(1), a.at<T>(2));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileGlobalPooling)

}  // namespace tilefold::reference
