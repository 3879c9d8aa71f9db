#include "image.hpp"

#include <array>

#include "block_loop.hpp"

namespace tilefold::reference {

template <class T>
void loadImage(const LoadImage& l, const TileOrigin& origin, const std::vector<Image>& images, T* destination) {
  const Planes planes = planesOf(l);
  const std::int64_t block = planes.block;
  std::array<std::array<T, 256>, 4> value{};
  for (std::size_t c = 0; c < static_cast<std::size_t>(l.channels); ++c)
    for (std::size_t pixel = 0; pixel < 256; ++pixel)
      value[c][pixel] = static_cast<T>((static_cast<double>(pixel) / 255 - l.mean[c]) / l.deviation[c]);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    for (std::int64_t y = 0; y < l.height; ++y) {
      const Image& image = images[static_cast<std::size_t>(origin.batch + planes.image(plane))];
      const std::int64_t row = origin.row + y;
      const std::int64_t imageRow = image.cropTop + (image.flipVertical ? l.fullHeight - 1 - row : row);
      const std::uint8_t* pixels = image.pixels + imageRow * image.width * image.channels;
      T* out = destination + (plane * l.height + y) * l.width * block;
      for (std::int64_t x = 0; x < l.width; ++x) {
        const std::int64_t column = origin.column + x;
        const std::int64_t imageColumn = image.cropLeft + (image.flipHorizontal ? l.fullWidth - 1 - column : column);
        for (std::int64_t lane = 0; lane < block; ++lane) {
          const std::int64_t c = planes.firstChannel(plane) + lane;
          out[x * block + lane] = c < l.channels ? value[static_cast<std::size_t>(c)][pixels[imageColumn * image.channels + c]] : T(0);
        }
      }
    }
  }
}

template void loadImage<float>(const LoadImage&, const TileOrigin&, const std::vector<Image>&, float*);
template void loadImage<double>(const LoadImage&, const TileOrigin&, const std::vector<Image>&, double*);

}  // namespace tilefold::reference
