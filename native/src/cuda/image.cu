// Tiles of the step's uint8 images, normalised as they are loaded, plain or nhwc. Semantics:
// reference/image.cpp.
#include "activation.cuh"
#include "compiled.hpp"
#include "element_loop.cuh"
#include "families.hpp"

namespace tilefold::cuda {
namespace {

constexpr int maxChannels = 4;

struct Normalisation {
  double mean[maxChannels], deviation[maxChannels];
};

__device__ double mixed(const double* row, const std::uint8_t* pixel) {
  const double red = row[0] * (static_cast<double>(pixel[0]) / 255), green = row[1] * (static_cast<double>(pixel[1]) / 255),
               blue = row[2] * (static_cast<double>(pixel[2]) / 255), sum = red + green + blue + row[3];
  return sum < 0 ? 0 : sum > 1 ? 1 : sum;
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
  for (std::size_t c = 0; c < maxChannels; ++c) {
    normalisation.mean[c] = l.mean[c];
    normalisation.deviation[c] = l.deviation[c];
  }
  forEach(context, "loadImage", l.batch * l.height * l.width, [=] __device__(std::int64_t i) {
    const Division place = byPixels(i), pixelPlace = byWidth(place.remainder);
    const ImageBlock& image = step->images[origin.batch + place.quotient];
    const std::int64_t row = origin.row + pixelPlace.quotient, column = origin.column + pixelPlace.remainder;
    const std::uint8_t* pixel = image.pixels + (image.origin + row * image.rowStep + column * image.columnStep) * image.channels;
    for (std::int64_t c = 0; c < channels; ++c) {
      const double value = image.hasColour != 0 ? mixed(image.colour + 4 * c, pixel) : static_cast<double>(pixel[c]) / 255;
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
      return compiled(context, [l = tiled<LoadImage>(kernel)](const A& a) { loadImage<T>(a.context, l, a.origin(1), a.at<T>(0)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileImage)

}  // namespace tilefold::cuda
