#include "winograd_correlation.hpp"

#include "parallel.hpp"

namespace tilefold::cpu::winograd {
namespace {

constexpr std::int64_t chunkChannels = maxVectors * lanes;

TileGrid gridOf(const Correlation& c) { return {c.batch, c.result.height, c.result.width, c.windows.dilation}; }

// Threads take blocks of tiles of their own where a cache holds the weights that each reads; else
// all work on one block, on different channels of its result, so that large weights are read once a
// block. The smaller the weights, the smaller the block may be.
struct Blocking {
  bool shared;
  std::int64_t tiles, blocks;

  Blocking(const Correlation& c, const TileGrid& grid, int threads) {
    constexpr std::int64_t smallWeights = 1 << 20, sharedWeights = 16 << 20;
    const std::int64_t weightBytes = positions * c.operand.channels * c.result.channels * static_cast<std::int64_t>(sizeof(float));
    // A single chunk of channels is one thread's.
    shared = weightChunks(c.result.channels) > 1 && (weightBytes > sharedWeights || grid.count() < threads * groupTiles);
    const std::int64_t members = shared ? 1 : threads, most = shared ? maxTiles : weightBytes > smallWeights ? 48 : 24;
    const std::int64_t rounds = ceilDivide(grid.count(), members * most);
    tiles = ceilDivide(ceilDivide(grid.count(), rounds * members), groupTiles) * groupTiles;
    blocks = ceilDivide(grid.count(), tiles);
  }
};

Transformed operandTiles(const Correlation& c, const Blocking& blocking) { return {blocking.tiles, c.operand.blocks()}; }

Transformed productTiles(const Correlation& c, const Blocking& blocking) {
  return {blocking.tiles, std::min(maxVectors, c.result.blocks())};
}

template <class T>
void storeTile(const Planes& planes, T* plane, const Place& place, const Dilation& dilation, const float* products,
               std::int64_t positionStride, const Finish& finish) {
  T* pixels = plane + place.y * planes.rowStride() + place.x * lanes;
  const PixelStrides strides{dilation.rows * planes.rowStride(), dilation.columns * lanes};
  const std::int64_t rows = std::min(step, ceilDivide(planes.height - place.y, dilation.rows));
  const std::int64_t columns = std::min(step, ceilDivide(planes.width - place.x, dilation.columns));
  if (rows == step && columns == step) return restoreTile(products, positionStride, finish, pixels, strides);
  alignas(64) T whole[step * step * lanes];
  restoreTile(products, positionStride, finish, whole, {step * lanes, lanes});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      std::memcpy(static_cast<void*>(pixels + i * strides.row + j * strides.pixel), whole + (i * step + j) * lanes, lanes * sizeof(T));
}

// One chunk of the result's channels for a block of tiles.
template <class T>
void produceChunk(const Correlation& c, const CorrelationOperands<T>& operands, const Block& tiles, std::int64_t chunk,
                  const Transformed& from, const float* transformed, const Transformed& to, float* products) {
  const std::int64_t vectors = chunkVectors(c.result.channels, chunk);
  const float* weights = operands.weights + chunkOffset(c.operand.channels, chunk);
  for (std::int64_t p = 0; p < positions; ++p)
    multiply({weights + p * c.operand.channels * vectors * lanes, transformed + p * from.positionStride(),
              products + p * to.positionStride(), tiles.groups(), c.operand.blocks(), vectors});
  constexpr float nothing[lanes] = {};
  for (std::int64_t v = 0; v < vectors; ++v) {
    const std::int64_t block = chunk * maxVectors + v;
    const Finish finish{operands.bias == nullptr ? nothing : operands.bias + block * lanes, operands.slope};
    for (std::int64_t tile = 0; tile < tiles.count(); ++tile)
      storeTile(c.result, operands.result + c.result.at(tiles[tile].image, block), tiles[tile], c.windows.dilation, products + (tile * vectors + v) * lanes,
                to.positionStride(), finish);
  }
}

}  // namespace

std::int64_t weightChunks(std::int64_t resultChannels) { return ceilDivide(resultChannels, chunkChannels); }

std::int64_t chunkVectors(std::int64_t resultChannels, std::int64_t chunk) {
  return std::min(maxVectors, resultChannels / lanes - chunk * maxVectors);
}

std::int64_t chunkOffset(std::int64_t operandChannels, std::int64_t chunk) { return chunk * chunkChannels * positions * operandChannels; }

std::int64_t correlationScratchFloats(const Correlation& c, int threads) {
  const Blocking blocking(c, gridOf(c), threads);
  const std::int64_t transformed = operandTiles(c, blocking).floats(), products = productTiles(c, blocking).floats();
  return threads * products + (blocking.shared ? 1 : threads) * transformed;
}

template <class T>
void correlate(const Correlation& c, int threads, const CorrelationOperands<T>& operands) {
  const TileGrid grid = gridOf(c);
  const Blocking blocking(c, grid, threads);
  const Transformed from = operandTiles(c, blocking), to = productTiles(c, blocking);
  const std::int64_t chunks = weightChunks(c.result.channels);
  parallelTeam([&](std::int64_t member, std::int64_t members) {
    float* products = operands.scratch + member * to.floats();
    float* transformed = operands.scratch + threads * to.floats() + (blocking.shared ? 0 : member * from.floats());
    // A member's share of the blocks, and its share of the work on one.
    const Share blocks = blocking.shared ? Share{0, blocking.blocks} : shareOf(blocking.blocks, member, members);
    const std::int64_t own = blocking.shared ? member : 0, of = blocking.shared ? members : 1;
    for (std::int64_t index = blocks.begin; index < blocks.end; ++index) {
      const Block tiles(grid, index * blocking.tiles, std::min(grid.count(), (index + 1) * blocking.tiles));
      for (std::int64_t block = own; block < c.operand.blocks(); block += of)
        transformBlock(c.operand, operands.operand, tiles, c.windows, block, from, block, transformed);
      if (blocking.shared) teamBarrier();
      for (std::int64_t chunk = own; chunk < chunks; chunk += of) produceChunk(c, operands, tiles, chunk, from, transformed, to, products);
      if (blocking.shared) teamBarrier();
    }
  });
}

template void correlate(const Correlation&, int, const CorrelationOperands<float>&);
template void correlate(const Correlation&, int, const CorrelationOperands<Bfloat16>&);

}  // namespace tilefold::cpu::winograd
