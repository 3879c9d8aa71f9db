// Where the scores of a tile's pixels are, in any activation layout.
#pragma once
#include "block_loop.hpp"

namespace tilefold::reference {

// The scores of a tile: channel k of a pixel is at(row, column)[offset(k)].
template <class T>
struct Scores {
  Scores(const Tile& t, T* first) : planes(planesOf(t)), height(t.height), width(t.width), data(first) {}
  // Rows of all images are counted in one go.
  T* at(std::int64_t row, std::int64_t column) const {
    return data + ((row / height * planes.blocks * height + row % height) * width + column) * planes.block;
  }
  std::int64_t offset(std::int64_t channel) const {
    return channel / planes.block * height * width * planes.block + channel % planes.block;
  }
  Planes planes;
  std::int64_t height, width;
  T* data;
};

}  // namespace tilefold::reference
