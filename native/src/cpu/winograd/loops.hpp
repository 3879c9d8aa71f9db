// The arithmetic of Winograd's convolutions 3x3 (points.hpp), on `Width` channels at a
// time, as many as lie together in an activation: 16 with AVX-512, else 8. Compiled for several
// instruction sets like vector_loops.hpp; each result depends on nothing but its operands.
#pragma once
#include <cstdint>

#include "../../kernels/bfloat16.hpp"
#include "points.hpp"

namespace tilefold::cpu::winograd {

constexpr std::int64_t minStep = 2, maxStep = 6;  // pixels of a tile's result along an axis
template <int Largest>
constexpr std::int64_t window = Largest + 2;  // pixels of a whole tile's window
template <int Largest>
constexpr std::int64_t positions = window<Largest> * window<Largest>;  // of a pair of channels
constexpr std::int64_t taps = 9;
constexpr std::int64_t groupTiles = 6;  // tiles that a product takes at once
// Vectors of result channels that it takes at once: registers hold their sums for all those tiles.
template <int Width>
constexpr std::int64_t maxVectors = Width == 16 ? 4 : 2;
template <int Width>
constexpr std::int64_t groupFloats = groupTiles * Width;

// Where the channels of each pixel of a window are. T: float or Bfloat16, or a constant one.
template <class T>
struct PixelGrid {
  T* first;
  std::int64_t below, beside;  // elements to the next pixel
  T* operator()(std::int64_t i, std::int64_t j) const { return first + i * below + j * beside; }
};

// Pixels of a tile's result.
struct TileSize {
  std::int64_t rows, columns;
};
// Along an axis a tile has 2 points more than results.
template <int Largest>
bool hasPosition(const TileSize& size, std::int64_t position) {
  const auto has = [](std::int64_t results, std::int64_t point) { return point == Largest + 1 || point <= results; };
  return has(size.rows, position / window<Largest>) && has(size.columns, position % window<Largest>);
}

// The window of a tile, which has 2 rows and columns more -> one vector a position,
// `positionStride` floats apart.
template <int Width, int Largest, class T>
void transformWindow(const PixelGrid<const T>& pixels, const TileSize& size, float* transformed, std::int64_t positionStride);
// A tile of a gradient likewise, by the transpose of `restoreTile`. Adds the pixels to `sum`
// (`Width` floats).
template <int Width, int Largest, class T>
void transformGradient(const PixelGrid<const T>& pixels, const TileSize& size, float* transformed, std::int64_t positionStride,
                       float* sum);
// `count` times 9 taps, a vector each; at a position they lie one after the other.
template <int Width, int Largest>
void transformTaps(const float* weights, std::int64_t count, float* transformed, std::int64_t positionStride);
// Two rows of positions, which are made together: of the first pair the first row and the last.
template <int Largest>
constexpr std::int64_t rowPairs = window<Largest> / 2;
struct RowPair {
  std::int64_t one, other;
};
template <int Largest>
constexpr RowPair rowPairAt(std::int64_t pair) {
  return pair == 0 ? RowPair{0, window<Largest> - 1} : RowPair{2 * pair - 1, 2 * pair};
}
// Floats from a vector to the next one, and from its tap to the next.
struct TapStrides {
  std::int64_t vector, tap;
};
// Of transformTaps' positions those of two rows: one row's, then the other's, where the vectors lie
// `step` floats apart.
template <int Width, int Largest>
void transformTapRows(std::int64_t pair, const float* weights, const TapStrides& strides, std::int64_t count, float* transformed,
                      std::int64_t positionStride, std::int64_t step);

struct Finish {
  const float* start;  // `Width` floats that each pixel begins with: the bias
  float slope;         // of what is negative at the end: 1 leaves it
};
// Products at the positions -> a tile of pixels.
template <int Width, int Largest, class T>
void restoreTile(const float* products, std::int64_t positionStride, const Finish& finish, const TileSize& size,
                 const PixelGrid<T>& pixels);
// Products at the positions -> 9 taps, sums[tap * tapStride + lane]: written as floats, added as
// doubles.
template <int Width, int Largest, class T>
void restoreTaps(const float* products, std::int64_t positionStride, T* sums, std::int64_t tapStride);

// At one position: result[tile][vector][Width] = sum over channels c of operand(tile, c) *
// weights[c][vector][Width]. Operands are in groups of 6 tiles: [group][channel block][tile of
// group][Width]. Added to what is there if it `adds`; the sum is formed first.
struct Product {
  const float *weights, *operand;
  float* result;
  std::int64_t groups, blocks;
  std::int64_t vectors;  // 1 .. maxVectors
  bool adds;
};
template <int Width>
void multiply(const Product& product);

// At one position: result[c][vector][Width] = sum over tiles of operand(tile, c) *
// gradient[tile][vector][Width], added to what is there if it `adds`; the sum is formed first.
struct GradientProduct {
  const float *operand, *gradient;
  float* result;
  std::int64_t groups, blocks;
  std::int64_t vectors;
  bool adds;
};
template <int Width>
void accumulate(const GradientProduct& product);

}  // namespace tilefold::cpu::winograd
