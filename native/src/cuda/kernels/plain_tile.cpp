#include "plain_tile.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tilefold::cuda {
namespace {

// The part of an image that a tile loads, in lines of pixels that lie side by side.
struct Lines {
  Lines(const ImageBlock& image, const LoadImage& load, const TileOrigin& origin) : pixelBytes(image.channels * bytesOf(image.elementType)) {
    const bool inRows = std::abs(image.columnStep) == 1;
    const std::int64_t along = inRows ? image.columnStep : image.rowStep;
    const std::int64_t pixels = inRows ? load.width : load.height;
    count = inRows ? load.height : load.width;
    // Lines that are read backwards begin at their last pixel.
    const std::int64_t place = image.origin + origin.row * image.rowStep + origin.column * image.columnStep;
    first = image.pixels + (place + std::min<std::int64_t>(along, 0) * (pixels - 1)) * pixelBytes;
    step = (inRows ? image.rowStep : image.columnStep) * pixelBytes;
    bytes = static_cast<std::size_t>(pixels * pixelBytes);
  }
  bool areOnePixel() const {
    const auto pixel = static_cast<std::size_t>(pixelBytes);
    // Each byte of the first line is the one a pixel before it.
    if (std::memcmp(first, first + pixel, bytes - pixel) != 0) return false;
    for (std::int64_t line = 1; line < count; ++line)
      if (std::memcmp(first + line * step, first, bytes) != 0) return false;
    return true;
  }

  std::int64_t pixelBytes, count = 0, step = 0;
  const std::uint8_t* first = nullptr;
  std::size_t bytes = 0;
};

}  // namespace

std::optional<PlainTile> findPlainTile(const ImageBlock* images, const LoadImage& load, const TileOrigin& origin) {
  PlainTile tile{origin.batch, {}};
  for (std::int64_t number = 0; number < load.batch; ++number) {
    const Lines lines(images[origin.batch + number], load, origin);
    if (!lines.areOnePixel()) return std::nullopt;
    tile.pixels.insert(tile.pixels.end(), lines.first, lines.first + lines.pixelBytes);
  }
  return tile;
}

}  // namespace tilefold::cuda
