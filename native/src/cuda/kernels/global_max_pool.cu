// The largest element of each channel, plain or nhwc. Semantics: reference/global_pooling.cpp.
#include "../../kernels/maxima.hpp"
#include "activation.cuh"
#include "compiled.hpp"
#include "families.hpp"
#include "reduction.cuh"

namespace tilefold::cuda {
// The larger of two is what they add up to.
template <>
struct SumParts<Maximum> {
  static constexpr int count = 2, loadsAhead = 4;
  static __device__ double& at(Maximum& maximum, int k) { return k == 0 ? maximum.value : maximum.place; }
};

namespace {

// The elements of one channel of a tile, each with its absolute place.
template <class T>
struct PlacedTerms {
  const T* first;
  std::int64_t stride, rowStride, before;
  Divisor byWidth;

  __device__ Maximum operator()(std::int64_t pixel) const {
    const Division at = byWidth(pixel);
    return {static_cast<double>(first[pixel * stride]), static_cast<double>(before + at.quotient * rowStride + at.remainder)};
  }
};

// One past the absolute place of the tile's first pixel.
std::int64_t firstPlace(const PlacedTile& t, const TileOrigin& origin) { return origin.row * t.fullWidth + origin.column + 1; }

template <class T>
void globalMaxPoolForward(const Context& context, const PlacedTile& t, const TileOrigin& origin, const T* source,
                          Maximum* maxima, T* destination) {
  const Activation tile(t.layout, t.channels, t.height, t.width);
  const Divisor byChannels(t.channels), byWidth(t.width);
  const std::int64_t before = firstPlace(t, origin), rowStride = t.fullWidth;
  const auto terms = [=] __device__(std::int64_t output) {
    const Division place = byChannels(output);
    return PlacedTerms<T>{source + tile.plane(place.quotient, place.remainder), tile.pixelStride(), rowStride, before, byWidth};
  };
  const auto finish = [=] __device__(std::int64_t output, const Maximum& largest) {
    maxima[output] += largest;
    destination[output] = static_cast<T>(maxima[output].value);
  };
  const std::int64_t outputs = t.batch * t.channels, pixels = t.height * t.width;
  if (tile.channelsLast())
    forEachSum<32>(context, "globalMaxPoolForward", outputs, pixels, terms, finish);
  else
    forEachSum<1>(context, "globalMaxPoolForward", outputs, pixels, terms, finish);
}

// Parts of all ranks.
template <class T>
void mergeMaxima(const Context& context, const MergeParts& m, const Maximum* source, Maximum* maxima, T* destination) {
  forEach(context, "mergeMaxima", m.rows, [=] __device__(std::int64_t row) {
    Maximum merged{};
    for (std::int64_t part = 0; part < m.parts; ++part) merged += source[part * m.rows + row];
    maxima[row] = merged;
    destination[row] = static_cast<T>(merged.value);
  });
}

template <class T>
void globalMaxPoolBackward(const Context& context, const PlacedTile& t, const TileOrigin& origin, const T* destinationGradient,
                           const Maximum* maxima, T* sourceGradient) {
  const Activation tile(t.layout, t.channels, t.height, t.width);
  const std::int64_t channels = t.channels, before = firstPlace(t, origin), rowStride = t.fullWidth;
  forEachPack<T>(context, "globalMaxPoolBackward", t.batch * t.channels * t.height * t.width, {sourceGradient},
                 [=] __device__(auto values, std::int64_t i) {
                   for (int k = 0; k < values.width; ++k) {
                     const Place at = tile.place(i + k);
                     const std::int64_t output = at.image * channels + at.channel;
                     const auto place = static_cast<double>(before + at.row * rowStride + at.column);
                     values[k] = maxima[output].place == place ? static_cast<float>(destinationGradient[output]) : 0.0F;
                   }
                   values.store(sourceGradient + i);
                 });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileGlobalMaxPool(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::globalMaxPoolForward:
      return compiled(context, [t = tiled<PlacedTile>(kernel)](const A& a) {
        globalMaxPoolForward<T>(a.context, t, a.originInPlane(3), a.at<T>(0), a.at<Maximum>(1), a.at<T>(2));
      });
    case KernelKind::mergeMaxima:
      return compiled(context, [m = decode<MergeParts>(kernel)](const A& a) {
        mergeMaxima<T>(a.context, m, a.at<Maximum>(0), a.at<Maximum>(1), a.at<T>(2));
      });
    case KernelKind::globalMaxPoolBackward:
      return compiled(context, [t = tiled<PlacedTile>(kernel)](const A& a) {
        globalMaxPoolBackward<T>(a.context, t, a.originInPlane(3), a.at<T>(0), a.at<Maximum>(1), a.at<T>(2));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileGlobalMaxPool)

}  // namespace tilefold::cuda
