// An activation in blocks of `Width` channels, and the tiles that its plane is cut into: one
// numbering over the images, rows and columns of a batch. Where a kernel is dilated by d, every
// d-th row is a dense plane's, and so is every d-th column: tiles are of those.
#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "../../kernels/layout.hpp"
#include "../processor/prefetch.hpp"
#include "loops.hpp"

namespace tilefold::cpu::winograd {

template <int Width>
struct Planes {
  std::int64_t channels, height, width;
  std::int64_t blocks() const { return channels / Width; }
  std::int64_t rowStride() const { return width * Width; }
  std::int64_t at(std::int64_t image, std::int64_t block) const { return (image * blocks() + block) * height * width * Width; }
};

struct Dilation {
  std::int64_t rows, columns;
};

// A tile's first result.
struct Place {
  std::int64_t image, y, x;
};

// The tiles along one axis, by their size: of results 0, d, 2d and so on, then of 1, d + 1 ...
class TileAxis {
 public:
  // Whole tiles of `largest` results alone, the last of which may reach beyond the axis, or smaller
  // ones too.
  TileAxis(std::int64_t extent, std::int64_t dilation, std::int64_t largest, bool isExact) {
    for (std::int64_t first = 0; first < std::min(extent, dilation); ++first) {
      const std::int64_t results = ceilDivide(extent - first, dilation);
      for (std::int64_t done = 0; done < results;) {
        const std::int64_t size = isExact ? sizeOf(results - done, largest) : largest;
        firsts_[static_cast<std::size_t>(size - minStep)].push_back(first + done * dilation);
        done += size;
      }
    }
  }
  // The next tile's, of so many results; one is never left, since there is no tile of 1.
  static std::int64_t sizeOf(std::int64_t left, std::int64_t largest) {
    if (left == largest + 1) return largest - 1;
    return std::clamp(left, minStep, largest);
  }
  // The first results of the tiles of a size.
  const std::vector<std::int64_t>& operator[](std::int64_t size) const { return firsts_[static_cast<std::size_t>(size - minStep)]; }

 private:
  std::array<std::vector<std::int64_t>, maxStep - minStep + 1> firsts_;
};

// Tiles of one size, of all that are numbered.
struct Section {
  TileSize size;
  std::int64_t begin, end;
  std::int64_t count() const { return end - begin; }
};

class TileGrid {
 public:
  // Smaller tiles where one image has fewer products by them, in whole groups: how it is cut then
  // depends on no other image.
  TileGrid(std::int64_t batch, std::int64_t height, std::int64_t width, const Dilation& dilation, std::int64_t largest)
      : TileGrid(batch, {height, dilation.rows, largest, true}, {width, dilation.columns, largest, true}) {
    TileGrid whole(batch, {height, dilation.rows, largest, false}, {width, dilation.columns, largest, false});
    if (whole.products() <= products()) *this = std::move(whole);
  }
  std::int64_t count() const { return sections_.empty() ? 0 : sections_.back().end; }
  const std::vector<Section>& sections() const { return sections_; }
  const Section& sectionOf(std::int64_t tile) const {
    return *std::find_if(sections_.begin(), sections_.end(), [&](const Section& section) { return tile < section.end; });
  }
  Place place(const Section& section, std::int64_t tile) const {
    const std::vector<std::int64_t>&rows = rows_[section.size.rows], &columns = columns_[section.size.columns];
    const auto height = static_cast<std::int64_t>(rows.size()), width = static_cast<std::int64_t>(columns.size());
    const std::int64_t index = tile - section.begin, row = index / width;
    return {row / height, rows[static_cast<std::size_t>(row % height)], columns[static_cast<std::size_t>(index % width)]};
  }
  // Of an image and a pair of channels.
  std::int64_t products() const {
    std::int64_t sum = 0;
    for (const Section& section : sections_)
      sum += ceilDivide(section.count() / batch_, groupTiles) * (section.size.rows + 2) * (section.size.columns + 2);
    return sum;
  }

 private:
  TileGrid(std::int64_t batch, TileAxis rows, TileAxis columns) : batch_(batch), rows_(std::move(rows)), columns_(std::move(columns)) {
    for (std::int64_t height = maxStep; height >= minStep; --height)
      for (std::int64_t width = maxStep; width >= minStep; --width) {
        const std::int64_t tiles = batch * static_cast<std::int64_t>(rows_[height].size() * columns_[width].size());
        if (tiles > 0) sections_.push_back({{height, width}, count(), count() + tiles});
      }
  }
  std::int64_t batch_;
  TileAxis rows_, columns_;
  std::vector<Section> sections_;
};

constexpr std::int64_t maxTiles = 96;  // of a block

// The places of consecutive tiles, all of one size.
class Block {
 public:
  // Up to `end` or to the section's.
  Block(const TileGrid& grid, std::int64_t begin, std::int64_t end) {
    const Section& section = grid.sectionOf(begin);
    size_ = section.size;
    count_ = std::min(end, section.end) - begin;
    for (std::int64_t i = 0; i < count_; ++i) places_[static_cast<std::size_t>(i)] = grid.place(section, begin + i);
  }
  std::int64_t count() const { return count_; }
  const TileSize& size() const { return size_; }
  std::int64_t groups() const { return ceilDivide(count_, groupTiles); }
  const Place& operator[](std::int64_t i) const { return places_[static_cast<std::size_t>(i)]; }

 private:
  TileSize size_;
  std::int64_t count_;
  std::array<Place, maxTiles> places_;
};

// use(block, the one after it) over the blocks of at most `most` tiles from `begin` to `end`; the
// last has none after it.
template <class Use>
void forEachBlock(const TileGrid& grid, std::int64_t begin, std::int64_t end, std::int64_t most, const Use& use) {
  const auto blockAt = [&](std::int64_t first) {
    return first < end ? std::optional<Block>(Block(grid, first, std::min(first + most, end))) : std::nullopt;
  };
  for (std::optional<Block> block = blockAt(begin), next; block; block = next) {
    begin += block->count();
    next = blockAt(begin);
    use(*block, next);
  }
}

// Pixels of one block of channels, as far apart as the kernel's taps, at most `most` along each
// axis; zeros stand for those outside the plane.
template <int Width, class T>
class Pixels {
 public:
  void find(const Planes<Width>& planes, const T* plane, std::int64_t y, std::int64_t x, const TileSize& size, const Dilation& dilation) {
    const std::int64_t below = dilation.rows * planes.rowStride(), beside = dilation.columns * Width;
    const auto isInside = [](std::int64_t first, std::int64_t count, std::int64_t by, std::int64_t extent) {
      return first >= 0 && first + (count - 1) * by < extent;
    };
    size_ = size;
    isWhole_ = isInside(y, size.rows, dilation.rows, planes.height) && isInside(x, size.columns, dilation.columns, planes.width);
    if (isWhole_) {
      grid_ = {plane + y * planes.rowStride() + x * Width, below, beside};
      return;
    }
    alignas(64) static constexpr T zeros[Width] = {};
    for (std::int64_t i = 0; i < size.rows; ++i)
      for (std::int64_t j = 0; j < size.columns; ++j) {
        const std::int64_t row = y + i * dilation.rows, column = x + j * dilation.columns;
        const bool has = row >= 0 && row < planes.height && column >= 0 && column < planes.width;
        addresses_[i][j] = has ? plane + row * planes.rowStride() + column * Width : zeros;
      }
  }
  // use(PixelGrid): where some are outside, of a copy that lives as long as that.
  template <class Use>
  void with(const Use& use) const {
    if (isWhole_) return use(grid_);
    alignas(64) T copy[most][most][Width];
    for (std::int64_t i = 0; i < size_.rows; ++i)
      for (std::int64_t j = 0; j < size_.columns; ++j) std::memcpy(static_cast<void*>(copy[i][j]), addresses_[i][j], sizeof(copy[i][j]));
    use(PixelGrid<const T>{copy[0][0], most * Width, Width});
  }
  // Each line once, which may hold several pixels, where none is outside. Locality: as of
  // cpu::prefetch.
  template <int Locality>
  void prefetch() const {
    constexpr std::int64_t lineElements = 64 / sizeof(T);
    const std::int64_t pixelsOfLine = isWhole_ ? std::max<std::int64_t>(1, lineElements / grid_.beside) : 1;
    const auto at = [&](std::int64_t i, std::int64_t j) { return isWhole_ ? grid_(i, j) : addresses_[i][j]; };
    for (std::int64_t i = 0; i < size_.rows; ++i) {
      for (std::int64_t j = 0; j < size_.columns; j += pixelsOfLine) cpu::prefetch<Locality>(at(i, j));
      if (pixelsOfLine > 1) cpu::prefetch<Locality>(at(i, size_.columns - 1));
    }
  }

 private:
  static constexpr std::int64_t most = maxStep + 2;
  TileSize size_{};
  bool isWhole_ = false;
  PixelGrid<const T> grid_{};
  const T* addresses_[most][most];
};

// Where the transforms of a block's tiles lie: [position][group of tiles][block of channels][tile
// of the group][Width]. The gap after each position keeps them from all falling to the same lines
// of the cache.
template <int Width, int Largest>
struct Transformed {
  std::int64_t tiles, blocks;
  std::int64_t positionStride() const { return tiles * blocks * Width + Width; }
  std::int64_t floats() const { return positions<Largest> * positionStride(); }
  std::int64_t at(std::int64_t tile, std::int64_t block) const {
    return (tile / groupTiles * blocks + block) * groupFloats<Width> + tile % groupTiles * Width;
  }
};

template <int Width, int Largest>
void clear(float* transformed, std::int64_t positionStride) {
  for (std::int64_t p = 0; p < positions<Largest>; ++p) std::memset(transformed + p * positionStride, 0, Width * sizeof(float));
}

// Where the windows of tiles begin: so many rows and columns before the tile.
struct Windows {
  std::int64_t padTop, padLeft;
  Dilation dilation;
};

// Runs use(tile, pixels) for each tile, one at least, whose pixels are found and fetched while the
// one before is used.
template <int Width, class T, class Find, class Use>
void forEachTile(const Block& tiles, const Find& find, const Use& use) {
  Pixels<Width, T> pixels[2];
  find(tiles[0], pixels[0]);
  for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
    if (tile + 1 < tiles.count()) {
      Pixels<Width, T>& next = pixels[(tile + 1) % 2];
      find(tiles[tile + 1], next);
      next.template prefetch<3>();
    }
    use(tile, pixels[tile % 2]);
  }
}

// Transforms one block of channels of each tile's window; the tiles that are missing in the last
// group become zero.
template <int Width, int Largest, class T>
void transformBlock(const Planes<Width>& planes, const T* pixels, const Block& tiles, const Windows& windows, std::int64_t channelBlock,
                    const Transformed<Width, Largest>& layout, std::int64_t layoutBlock, float* transformed) {
  const TileSize size = tiles.size(), read{size.rows + 2, size.columns + 2};
  forEachTile<Width, T>(
      tiles,
      [&](const Place& place, Pixels<Width, T>& from) {
        from.find(planes, pixels + planes.at(place.image, channelBlock), place.y - windows.padTop, place.x - windows.padLeft, read,
                  windows.dilation);
      },
      [&](std::int64_t tile, const Pixels<Width, T>& from) {
        from.with([&](const PixelGrid<const T>& source) {
          transformWindow<Width, Largest>(source, size, transformed + layout.at(tile, layoutBlock), layout.positionStride());
        });
      });
  for (std::int64_t tile = tiles.count(); tile < tiles.groups() * groupTiles; ++tile)
    clear<Width, Largest>(transformed + layout.at(tile, layoutBlock), layout.positionStride());
}

}  // namespace tilefold::cpu::winograd
