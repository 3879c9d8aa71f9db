#include "correlation.hpp"

#include "../processor/parallel.hpp"
#include "ahead.hpp"
#include "store.hpp"

namespace tilefold::cpu::winograd {
namespace {

template <int Width>
constexpr std::int64_t chunkChannels = maxVectors<Width> * Width;

// Threads take blocks of tiles of their own where a cache holds the weights that each reads; else
// all work on one block, on different channels of its result, so that large weights are read once a
// block. The smaller the weights, the smaller the block may be.
class Blocking {
 public:
  template <int Width, int Largest>
  Blocking(const Correlation<Width, Largest>& c, int threads) {
    constexpr std::int64_t smallWeights = 1 << 20, sharedWeights = 16 << 20;
    const std::int64_t weightBytes = positions<Largest> * c.operand.channels * c.result.channels * static_cast<std::int64_t>(sizeof(float));
    // A single chunk of channels is one thread's.
    isShared_ = weightChunks<Width>(c.result.channels) > 1 && (weightBytes > sharedWeights || c.grid.count() < threads * groupTiles);
    members_ = isShared_ ? 1 : threads;
    most_ = isShared_ ? maxTiles : weightBytes > smallWeights ? 48 : 24;
    for (const Section& section : c.grid.sections()) maxTiles_ = std::max(maxTiles_, tilesIn(section));
  }
  bool isShared() const { return isShared_; }
  // Of a block: at most, and in a section.
  std::int64_t tiles() const { return maxTiles_; }
  std::int64_t tilesIn(const Section& section) const {
    const std::int64_t rounds = ceilDivide(section.count(), members_ * most_);
    return ceilDivide(ceilDivide(section.count(), rounds * members_), groupTiles) * groupTiles;
  }

 private:
  bool isShared_;
  std::int64_t members_, most_, maxTiles_ = 0;
};

template <int Width, int Largest>
Transformed<Width, Largest> operandTiles(const Correlation<Width, Largest>& c, const Blocking& blocking) {
  return {blocking.tiles(), c.operand.blocks()};
}

template <int Width, int Largest>
Transformed<Width, Largest> productTiles(const Correlation<Width, Largest>& c, const Blocking& blocking) {
  return {blocking.tiles(), std::min(maxVectors<Width>, c.result.blocks())};
}

// One chunk of the result's channels for a block of tiles.
template <int Width, int Largest, class T>
void produceChunk(const Correlation<Width, Largest>& c, const CorrelationOperands<T>& operands, const Block& tiles, std::int64_t chunk,
                  const Transformed<Width, Largest>& from, const float* transformed, const Transformed<Width, Largest>& to, float* products,
                  bool streams, Ahead<Width, T>& ahead) {
  const std::int64_t vectors = chunkVectors<Width>(c.result.channels, chunk);
  const float* weights = operands.weights + chunkOffset<Width, Largest>(c.operand.channels, chunk);
  for (std::int64_t p = 0; p < positions<Largest>; ++p) {
    ahead.fetchPart();
    if (hasPosition<Largest>(tiles.size(), p))
      multiply<Width>({weights + p * c.operand.channels * vectors * Width, transformed + p * from.positionStride(),
                       products + p * to.positionStride(), tiles.groups(), c.operand.blocks(), vectors, false});
  }
  constexpr float nothing[Width] = {};
  for (std::int64_t v = 0; v < vectors; ++v) {
    const std::int64_t block = chunk * maxVectors<Width> + v;
    const Finish finish{operands.bias == nullptr ? nothing : operands.bias + block * Width, operands.slope};
    for (std::int64_t tile = 0; tile < tiles.count(); ++tile)
      storeTile<Width, Largest>(c.result, operands.result + c.result.at(tiles[tile].image, block), tiles[tile], tiles.size(),
                                c.windows.dilation, products + (tile * vectors + v) * Width, to.positionStride(), finish, streams);
  }
}

}  // namespace

template <int Width>
std::int64_t weightChunks(std::int64_t resultChannels) {
  return ceilDivide(resultChannels, chunkChannels<Width>);
}

template <int Width>
std::int64_t chunkVectors(std::int64_t resultChannels, std::int64_t chunk) {
  return std::min(maxVectors<Width>, resultChannels / Width - chunk * maxVectors<Width>);
}

template <int Width, int Largest>
std::int64_t chunkOffset(std::int64_t operandChannels, std::int64_t chunk) {
  return chunk * chunkChannels<Width> * positions<Largest> * operandChannels;
}

template <int Width, int Largest>
std::int64_t correlationScratchFloats(const Correlation<Width, Largest>& c, int threads) {
  const Blocking blocking(c, threads);
  const std::int64_t transformed = operandTiles(c, blocking).floats(), products = productTiles(c, blocking).floats();
  return threads * products + (blocking.isShared() ? 1 : threads) * transformed;
}

template <int Width, int Largest, class T>
void correlate(const Correlation<Width, Largest>& c, int threads, const CorrelationOperands<T>& operands) {
  const Blocking blocking(c, threads);
  const Transformed<Width, Largest> from = operandTiles(c, blocking), to = productTiles(c, blocking);
  const std::int64_t chunks = weightChunks<Width>(c.result.channels);
  const bool isShared = blocking.isShared();
  const bool streams = c.windows.dilation.columns == 1 && c.resultElements() * static_cast<std::int64_t>(sizeof(T)) >= leastStreamed;
  parallelTeam([&](std::int64_t member, std::int64_t members) {
    float* products = operands.scratch + member * to.floats();
    float* transformed = operands.scratch + threads * to.floats() + (isShared ? 0 : member * from.floats());
    // A member's share of the work on a block.
    const std::int64_t own = isShared ? member : 0, of = isShared ? members : 1;
    const auto ownOf = [=](std::int64_t count) { return own < count ? ceilDivide(count - own, of) : 0; };
    for (const Section& section : c.grid.sections()) {
      const std::int64_t most = blocking.tilesIn(section), count = ceilDivide(section.count(), most);
      const Share blocks = isShared ? Share{0, count} : shareOf(count, member, members);
      const std::int64_t end = std::min(section.begin + blocks.end * most, section.end);
      forEachBlock(c.grid, section.begin + blocks.begin * most, end, most, [&](const Block& tiles, const std::optional<Block>& next) {
        for (std::int64_t block = own; block < c.operand.blocks(); block += of)
          transformBlock(c.operand, operands.operand, tiles, c.windows, block, from, block, transformed);
        if (isShared) teamBarrier();
        Ahead<Width, T> ahead(c.operand, operands.operand, next, c.windows, 2, {own, ownOf(c.operand.blocks()), of},
                              ownOf(chunks) * positions<Largest>);
        for (std::int64_t chunk = own; chunk < chunks; chunk += of)
          produceChunk(c, operands, tiles, chunk, from, transformed, to, products, streams, ahead);
        ahead.fetchRest();  // of a member that has no chunk
        if (isShared) teamBarrier();
      });
    }
    if (streams) streamFence();
  });
}

#define TILEFOLD_INSTANTIATE_TILES(Width, Largest)                                                     \
  template std::int64_t chunkOffset<Width, Largest>(std::int64_t, std::int64_t);                       \
  template std::int64_t correlationScratchFloats(const Correlation<Width, Largest>&, int);             \
  template void correlate(const Correlation<Width, Largest>&, int, const CorrelationOperands<float>&); \
  template void correlate(const Correlation<Width, Largest>&, int, const CorrelationOperands<Bfloat16>&);
#define TILEFOLD_INSTANTIATE(Width)                                      \
  template std::int64_t weightChunks<Width>(std::int64_t);               \
  template std::int64_t chunkVectors<Width>(std::int64_t, std::int64_t); \
  TILEFOLD_INSTANTIATE_TILES(Width, 4)                                   \
  TILEFOLD_INSTANTIATE_TILES(Width, 6)
TILEFOLD_INSTANTIATE(8)
TILEFOLD_INSTANTIATE(16)
#undef TILEFOLD_INSTANTIATE
#undef TILEFOLD_INSTANTIATE_TILES

}  // namespace tilefold::cpu::winograd
