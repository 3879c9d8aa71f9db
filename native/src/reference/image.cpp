// Tiles of the step's uint8 images, normalised as they are loaded.
#include <algorithm>
#include <array>
#include <utility>

#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// Where pixel (row, column) of the crop, once flipped and turned, lies in its image: origin + row *
// rowStep + column * columnStep.
struct Crop {
  Crop(const LoadImage& l, const Image& image) {
    std::int64_t height = image.onItsSide() ? l.fullWidth : l.fullHeight, width = image.onItsSide() ? l.fullHeight : l.fullWidth;
    origin = image.cropTop * image.width + image.cropLeft;
    rowStep = image.width;
    if (image.flipVertical) {
      origin += (height - 1) * rowStep;
      rowStep = -rowStep;
    }
    if (image.flipHorizontal) {
      origin += (width - 1) * columnStep;
      columnStep = -columnStep;
    }
    // Turned once, row i is what was the column i before the last, read downwards.
    for (std::int64_t turn = 0; turn < image.quarterTurns; ++turn) {
      origin += (width - 1) * columnStep;
      rowStep = -std::exchange(columnStep, rowStep);
      std::swap(height, width);
    }
  }
  std::int64_t origin, rowStep, columnStep = 1;  // in pixels
};

// The channel `c` of a pixel after its colours were mixed, within 0 .. 1.
double mixed(const std::array<double, 12>& colour, const std::uint8_t* pixel, std::size_t c) {
  const double* row = colour.data() + 4 * c;
  const auto part = [&](std::size_t k) { return row[k] * (static_cast<double>(pixel[k]) / 255); };
  return std::clamp(part(0) + part(1) + part(2) + row[3], 0.0, 1.0);
}

// destination = (value - mean[c]) / deviation[c] of the tile at `origin` of the cropped, flipped
// and turned images, where value is pixel / 255, or what the image's colour makes of the pixel's
// three of them, clamped to 0 .. 1.
template <class T>
void loadImage(const LoadImage& l, const TileOrigin& origin, const std::vector<Image>& images, T* destination) {
  const Planes planes = planesOf(l);
  const std::int64_t block = planes.block;
  const auto normalised = [&l](double value, std::size_t c) { return static_cast<T>((value - l.mean[c]) / l.deviation[c]); };
  std::array<std::array<T, 256>, 4> values{};
  for (std::size_t c = 0; c < static_cast<std::size_t>(l.channels); ++c)
    for (std::size_t pixel = 0; pixel < 256; ++pixel) values[c][pixel] = normalised(static_cast<double>(pixel) / 255, c);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    for (std::int64_t y = 0; y < l.height; ++y) {
      const Image& image = images[static_cast<std::size_t>(origin.batch + planes.image(plane))];
      const Crop crop(l, image);
      const std::uint8_t* first =
          image.pixels + (crop.origin + (origin.row + y) * crop.rowStep + origin.column * crop.columnStep) * image.channels;
      const std::int64_t step = crop.columnStep * image.channels;
      T* out = destination + (plane * l.height + y) * l.width * block;
      const auto fill = [&](const auto& valueOf) {
        for (std::int64_t x = 0; x < l.width; ++x)
          for (std::int64_t lane = 0; lane < block; ++lane) {
            const std::int64_t c = planes.firstChannel(plane) + lane;
            out[x * block + lane] = c < l.channels ? valueOf(first + x * step, static_cast<std::size_t>(c)) : T(0);
          }
      };
      if (image.colour)
        fill([&](const std::uint8_t* pixel, std::size_t c) { return normalised(mixed(*image.colour, pixel, c), c); });
      else
        fill([&](const std::uint8_t* pixel, std::size_t c) { return values[c][pixel[c]]; });
    }
  }
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileImage(const Kernel& kernel) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::loadImage:
      return compiled([l = decode<LoadImage>(kernel)](const A& a) { loadImage<T>(l, a.origin(1), a.step.images, a.at<T>(0)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileImage)

}  // namespace tilefold::reference
