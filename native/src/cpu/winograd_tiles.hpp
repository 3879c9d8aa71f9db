// An activation in nChw16c, and the tiles that its plane is cut into: one numbering over the
// images, rows and columns of a batch. Where a kernel is dilated by d, every d-th row is a dense
// plane's, and so is every d-th column: tiles are of those.
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

struct Dilation {
  std::int64_t rows, columns;
};

// A tile's first result.
struct Place {
  std::int64_t image, y, x;
};

// The tiles along one axis: first those of results 0, d, 2d and so on, then those of 1, d + 1 ...
class TileAxis {
 public:
  TileAxis(std::int64_t extent, std::int64_t dilation)
      : dilation_(dilation),
        longer_(extent % dilation),
        longTiles_(ceilDivide(extent / dilation + 1, step)),
        tiles_(ceilDivide(extent / dilation, step)) {}
  std::int64_t count() const { return longer_ * longTiles_ + (dilation_ - longer_) * tiles_; }
  // The first result of a tile.
  std::int64_t operator()(std::int64_t tile) const {
    if (tile < longer_ * longTiles_) return tile / longTiles_ + tile % longTiles_ * step * dilation_;
    const std::int64_t other = tile - longer_ * longTiles_;
    return longer_ + other / tiles_ + other % tiles_ * step * dilation_;
  }

 private:
  std::int64_t dilation_;
  std::int64_t longer_;  // of the dilation's residues have one result more
  std::int64_t longTiles_, tiles_;
};

class TileGrid {
 public:
  TileGrid(std::int64_t batch, std::int64_t height, std::int64_t width, const Dilation& dilation)
      : rows_(height, dilation.rows), columns_(width, dilation.columns), count_(batch * rows_.count() * columns_.count()) {}
  std::int64_t count() const { return count_; }
  Place operator()(std::int64_t tile) const {
    const std::int64_t columns = columns_.count(), row = tile / columns;
    return {row / rows_.count(), rows_(row % rows_.count()), columns_(tile % columns)};
  }

 private:
  TileAxis rows_, columns_;
  std::int64_t count_;
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

// A square of pixels of one block of channels, as far apart as the kernel's taps: where they are,
// or a copy with zeros for those outside the plane.
template <std::int64_t Size, class T>
class Square {
 public:
  Square(const Planes& planes, const T* plane, std::int64_t y, std::int64_t x, const Dilation& dilation) {
    const auto reached = [](std::int64_t first, std::int64_t by) { return first + (Size - 1) * by; };
    if (y >= 0 && x >= 0 && reached(y, dilation.rows) < planes.height && reached(x, dilation.columns) < planes.width) {
      pixels = plane + y * planes.rowStride() + x * lanes;
      strides = {dilation.rows * planes.rowStride(), dilation.columns * lanes};
      return;
    }
    std::memset(static_cast<void*>(copy_), 0, sizeof(copy_));
    for (std::int64_t i = 0; i < Size; ++i) {
      const std::int64_t row = y + i * dilation.rows;
      if (row < 0 || row >= planes.height) continue;
      for (std::int64_t j = 0; j < Size; ++j) {
        const std::int64_t column = x + j * dilation.columns;
        if (column < 0 || column >= planes.width) continue;
        std::memcpy(static_cast<void*>(copy_ + (i * Size + j) * lanes), plane + row * planes.rowStride() + column * lanes, lanes * sizeof(T));
      }
    }
    pixels = copy_;
    strides = {Size * lanes, lanes};
  }
  Square(const Square&) = delete;
  Square& operator=(const Square&) = delete;

  const T* pixels;
  PixelStrides strides;

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

// Where the windows of tiles begin: so many rows and columns before the tile.
struct Windows {
  std::int64_t padTop, padLeft;
  Dilation dilation;
};

// Transforms one block of channels of each tile's window; the tiles that are missing in the last
// group become zero.
template <class T>
void transformBlock(const Planes& planes, const T* pixels, const Block& tiles, const Windows& windows, std::int64_t channelBlock,
                    const Transformed& layout, std::int64_t layoutBlock, float* transformed) {
  for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
    const Place& place = tiles[tile];
    const Square<window, T> square(planes, pixels + planes.at(place.image, channelBlock), place.y - windows.padTop,
                                   place.x - windows.padLeft, windows.dilation);
    transformWindow(square.pixels, square.strides, transformed + layout.at(tile, layoutBlock), layout.positionStride());
  }
  for (std::int64_t tile = tiles.count(); tile < tiles.groups() * groupTiles; ++tile)
    clear(transformed + layout.at(tile, layoutBlock), layout.positionStride());
}

}  // namespace tilefold::cpu::winograd
