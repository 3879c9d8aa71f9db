// An activation in nChw16c, and the tiles that its plane is cut into: one numbering over the
// images, rows and columns of a batch.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>

#include "winograd_loops.hpp"

namespace tilefold::cpu::winograd {

inline std::int64_t ceilDivide(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

struct Planes {
  std::int64_t channels, height, width;
  std::int64_t blocks() const { return channels / lanes; }
  std::int64_t rowStride() const { return width * lanes; }
  std::int64_t at(std::int64_t image, std::int64_t block) const { return (image * blocks() + block) * height * width * lanes; }
};

// A tile's first result.
struct Place {
  std::int64_t image, y, x;
};

struct TileGrid {
  std::int64_t rows, columns, count;
  TileGrid(std::int64_t batch, std::int64_t height, std::int64_t width)
      : rows(ceilDivide(height, step)), columns(ceilDivide(width, step)), count(batch * rows * columns) {}
  Place operator()(std::int64_t tile) const { return {tile / (rows * columns), tile / columns % rows * step, tile % columns * step}; }
};

constexpr std::int64_t maxTiles = 96;  // of a block

// The places of consecutive tiles.
class Block {
 public:
  Block(const TileGrid& grid, std::int64_t begin, std::int64_t end) : count_(end - begin) {
    for (std::int64_t tile = begin; tile < end; ++tile) places_[static_cast<std::size_t>(tile - begin)] = grid(tile);
  }
  std::int64_t count() const { return count_; }
  std::int64_t groups() const { return ceilDivide(count_, groupTiles); }
  const Place& operator[](std::int64_t i) const { return places_[static_cast<std::size_t>(i)]; }

 private:
  std::int64_t count_;
  std::array<Place, maxTiles> places_;
};

// A square of pixels of one block of channels: where they are, or a copy with zeros for those
// outside the plane.
template <std::int64_t Size, class T>
class Square {
 public:
  Square(const Planes& planes, const T* plane, std::int64_t y, std::int64_t x) {
    if (y >= 0 && x >= 0 && y + Size <= planes.height && x + Size <= planes.width) {
      pixels = plane + y * planes.rowStride() + x * lanes;
      rowStride = planes.rowStride();
      return;
    }
    std::memset(static_cast<void*>(copy_), 0, sizeof(copy_));
    const std::int64_t left = std::max<std::int64_t>(0, -x), right = std::min(Size, planes.width - x);
    for (std::int64_t i = std::max<std::int64_t>(0, -y); i < std::min(Size, planes.height - y); ++i)
      if (left < right)
        std::memcpy(copy_ + (i * Size + left) * lanes, plane + (y + i) * planes.rowStride() + (x + left) * lanes,
                    static_cast<std::size_t>((right - left) * lanes) * sizeof(T));
    pixels = copy_;
    rowStride = Size * lanes;
  }
  Square(const Square&) = delete;
  Square& operator=(const Square&) = delete;

  const T* pixels;
  std::int64_t rowStride;

 private:
  alignas(64) T copy_[Size * Size * lanes];
};

// Where the transforms of a block's tiles lie: [position][group of tiles][block of channels][tile
// of the group][16]. The gap after each position keeps them from all falling to the same lines of
// the cache.
struct Transformed {
  std::int64_t tiles, blocks;
  std::int64_t positionStride() const { return tiles * blocks * lanes + lanes; }
  std::int64_t floats() const { return positions * positionStride(); }
  std::int64_t at(std::int64_t tile, std::int64_t block) const {
    return (tile / groupTiles * blocks + block) * groupFloats + tile % groupTiles * lanes;
  }
};

inline void clear(float* transformed, std::int64_t positionStride) {
  for (std::int64_t p = 0; p < positions; ++p) std::memset(transformed + p * positionStride, 0, lanes * sizeof(float));
}

// Transforms one block of channels of each tile's window, which begins `top` rows and `left`
// columns before the tile; the tiles that are missing in the last group become zero.
template <class T>
void transformBlock(const Planes& planes, const T* pixels, const Block& tiles, std::int64_t top, std::int64_t left,
                           std::int64_t channelBlock, const Transformed& layout, std::int64_t layoutBlock, float* transformed) {
  for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
    const Place& place = tiles[tile];
    const Square<window, T> square(planes, pixels + planes.at(place.image, channelBlock), place.y - top, place.x - left);
    transformWindow(square.pixels, square.rowStride, transformed + layout.at(tile, layoutBlock), layout.positionStride());
  }
  for (std::int64_t tile = tiles.count(); tile < tiles.groups() * groupTiles; ++tile)
    clear(transformed + layout.at(tile, layoutBlock), layout.positionStride());
}

}  // namespace tilefold::cpu::winograd
