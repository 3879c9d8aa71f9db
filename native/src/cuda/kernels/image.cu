// Tiles of the step's images, normalised as they are loaded, plain or nhwc. Semantics:
// reference/image.cpp.
#include "activation.cuh"
#include "compiled.hpp"
#include "element_loop.cuh"
#include "families.hpp"

namespace tilefold::cuda {
namespace {

struct Normalisation {
  double mean[mostImageChannels], deviation[mostImageChannels];
};

__device__ double mixed(const double* row, const std::uint8_t* pixel) {
  const double red = row[0] * (static_cast<double>(pixel[0]) / 255), green = row[1] * (static_cast<double>(pixel[1]) / 255),
               blue = row[2] * (static_cast<double>(pixel[2]) / 255), sum = red + green + blue + row[3];
  return sum < 0 ? 0 : sum > 1 ? 1 : sum;
}

__device__ double valueOf(const ImageBlock& image, std::int64_t at) {
  switch (image.elementType) {
    case ElementType::uint16:
      return reinterpret_cast<const std::uint16_t*>(image.pixels)[at];
    case ElementType::int16:
      return reinterpret_cast<const std::int16_t*>(image.pixels)[at];
    case ElementType::float32:
      return reinterpret_cast<const float*>(image.pixels)[at];
    default:
      return static_cast<double>(image.pixels[at]) / 255;
  }
}

// Reads context.step->images[origin.batch ...], whose pixels the device must see.
template <class T>
void loadImage(const Context& context, const LoadImage& l, const TileOrigin& origin, T* destination) {
  // One thread a pixel, so that the bytes of a pixel are fetched together.
  const Activation tile(l.layout, l.channels, l.height, l.width);
  const Divisor byPixels(l.height * l.width), byWidth(l.width);
  const std::int64_t channels = l.channels;
  const StepBlock* step = context.step;
  Normalisation normalisation{};
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    normalisation.mean[c] = meanOf(l, c);
    normalisation.deviation[c] = deviationOf(l, c);
  }
  forEach(context, "loadImage", l.batch * l.height * l.width, [=] __device__(std::int64_t i) {
    const Division place = byPixels(i), pixelPlace = byWidth(place.remainder);
    const ImageBlock& image = step->images[origin.batch + place.quotient];
    const std::int64_t row = origin.row + pixelPlace.quotient, column = origin.column + pixelPlace.remainder;
    const std::int64_t pixel = (image.origin + row * image.rowStep + column * image.columnStep) * image.channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      const double value = image.hasColour != 0 ? mixed(image.colour + 4 * c, image.pixels + pixel) : valueOf(image, pixel + c);
      destination[tile.plane(place.quotient, c) + place.remainder * tile.pixelStride()] =
          static_cast<T>((value - normalisation.mean[c]) / normalisation.deviation[c]);
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileImage(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::loadImage:
      return compiledLoad(context, tiled<LoadImage>(kernel),
                          [l = tiled<LoadImage>(kernel)](const A& a) { loadImage<T>(a.context, l, a.origin(1), a.at<T>(0)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileImage)

}  // namespace tilefold::cuda
