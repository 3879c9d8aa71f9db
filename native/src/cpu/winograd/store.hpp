// Tiles of results, from their products to where they lie.
#pragma once
#include "../processor/streaming.hpp"
#include "tiles.hpp"

namespace tilefold::cpu::winograd {

// Past the caches where `streams`.
template <int Width, int Largest, class T>
void storeTile(const Planes<Width>& planes, T* plane, const Place& place, const TileSize& size, const Dilation& dilation,
               const float* products, std::int64_t positionStride, const Finish& finish, bool streams) {
  const PixelGrid<T> pixels{plane + place.y * planes.rowStride() + place.x * Width, dilation.rows * planes.rowStride(),
                            dilation.columns * Width};
  const std::int64_t rows = std::min(size.rows, ceilDivide(planes.height - place.y, dilation.rows));
  const std::int64_t columns = std::min(size.columns, ceilDivide(planes.width - place.x, dilation.columns));
  if (!streams && rows == size.rows && columns == size.columns)
    return restoreTile<Width, Largest>(products, positionStride, finish, size, pixels);
  alignas(64) T whole[Largest * Largest * Width];
  restoreTile<Width, Largest>(products, positionStride, finish, size, PixelGrid<T>{whole, Largest * Width, Width});
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* row = whole + i * Largest * Width;
    if (streams)
      stream(row, pixels(i, 0), static_cast<std::size_t>(columns * Width) * sizeof(T));
    else
      for (std::int64_t j = 0; j < columns; ++j) std::memcpy(static_cast<void*>(pixels(i, j)), row + j * Width, Width * sizeof(T));
  }
}

}  // namespace tilefold::cpu::winograd
