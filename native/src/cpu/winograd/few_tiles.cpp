#include "few_tiles.hpp"

#include <algorithm>

#include "../processor/parallel.hpp"
#include "store.hpp"
#include "taps.hpp"

namespace tilefold::cpu::winograd {
namespace {

// Channels of the operand whose weights are transformed together: at two rows of positions these
// fit into the second-level cache, and at one position into the first.
constexpr std::int64_t partChannels = 64;

// A section's tiles, and the place of the first among all.
struct PlacedSection {
  Block tiles;
  std::int64_t slot;
};

// All tiles of a grid, each section's in groups of its own.
class Sections {
 public:
  explicit Sections(const TileGrid& grid) {
    for (const Section& section : grid.sections()) {
      all_.push_back({Block(grid, section.begin, section.end), slots_});
      slots_ += all_.back().tiles.groups() * groupTiles;
    }
  }
  std::int64_t slots() const { return slots_; }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::vector<PlacedSection> all_;
  std::int64_t slots_ = 0;
};

template <int Width, int Largest>
struct FewTiles {
  static constexpr std::int64_t partBlocks = partChannels / Width;
  const Correlation<Width, Largest>& c;
  Sections sections;
  Transformed<Width, Largest> operand, products;  // of a part of the channels; of a chunk
  std::int64_t operandParts, chunks;
  std::vector<std::int64_t> pairs;  // of rows of positions that a tile has

  explicit FewTiles(const Correlation<Width, Largest>& c)
      : c(c),
        sections(c.grid),
        operand{sections.slots(), partBlocks},
        products{sections.slots(), std::min(maxVectors<Width>, c.result.blocks())},
        operandParts(ceilDivide(c.operand.blocks(), partBlocks)),
        chunks(weightChunks<Width>(c.result.channels)) {
    const auto isThere = [&](std::int64_t row) {
      return std::any_of(sections.begin(), sections.end(), [&](const PlacedSection& section) {
        return hasPosition<Largest>(section.tiles.size(), row * window<Largest>);
      });
    };
    for (std::int64_t pair = 0; pair < rowPairs<Largest>; ++pair)
      if (isThere(rowPairAt<Largest>(pair).one) || isThere(rowPairAt<Largest>(pair).other)) pairs.push_back(pair);
  }
  std::int64_t vectors(std::int64_t chunk) const { return chunkVectors<Width>(c.result.channels, chunk); }
  // Blocks of channels of a part of the operand.
  std::int64_t blocks(std::int64_t part) const { return std::min(partBlocks, c.operand.blocks() - part * partBlocks); }
  // Weights of a part at two rows of positions; the gap as in Transformed.
  static constexpr std::int64_t weightStride = partChannels * maxVectors<Width> * Width + Width;
  static constexpr std::int64_t weightFloats = 2 * window<Largest> * weightStride;
};

// What a part of the operand's channels adds to the products at two rows of positions of a chunk of
// the result's channels: numbered part by part, then by rows, then by chunk.
template <int Width, int Largest>
struct Step {
  std::int64_t part, pair, chunk;
  Step(const FewTiles<Width, Largest>& few, std::int64_t index) {
    const auto pairs = static_cast<std::int64_t>(few.pairs.size());
    part = index % few.operandParts;
    pair = few.pairs[static_cast<std::size_t>(index / few.operandParts % pairs)];
    chunk = index / few.operandParts / pairs;
  }
};

// Fetches the weights of `next` meanwhile, unless it is null.
template <int Width, int Largest>
void runStep(const FewTiles<Width, Largest>& few, const TapReader<Width>& reader, const Step<Width, Largest>& step,
             const Step<Width, Largest>* next, const float* operand, float* weights, float* products) {
  using Few = FewTiles<Width, Largest>;
  constexpr std::int64_t weightStride = Few::weightStride, places = 2 * window<Largest>;
  const std::int64_t vectors = few.vectors(step.chunk), blocks = few.blocks(step.part);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t v = 0; v < vectors; ++v) {
      alignas(64) float room[Width * taps * Width];
      const auto transform = [&](const float* first, const TapStrides& strides) {
        transformTapRows<Width, Largest>(step.pair, first, strides, Width, weights + (block * Width * vectors + v) * Width, weightStride,
                                         vectors * Width);
      };
      reader.with(step.part * Few::partBlocks + block, step.chunk * maxVectors<Width> + v, room, transform);
    }
  const RowPair rows = rowPairAt<Largest>(step.pair);
  const Transformed<Width, Largest> from{few.sections.slots(), blocks};
  const std::int64_t ofNext = next == nullptr ? 0 : few.vectors(next->chunk), ahead = next == nullptr ? 0 : few.blocks(next->part) * ofNext;
  for (std::int64_t place = 0; place < places; ++place) {
    for (std::int64_t i = ahead * place / places; i < ahead * (place + 1) / places; ++i)
      reader.prefetch(next->part * Few::partBlocks + i / ofNext, next->chunk * maxVectors<Width> + i % ofNext);
    const std::int64_t row = place < window<Largest> ? rows.one : rows.other, p = row * window<Largest> + place % window<Largest>;
    for (const auto& [tiles, slot] : few.sections)
      if (hasPosition<Largest>(tiles.size(), p))
        multiply<Width>({weights + place * weightStride,
                         operand + step.part * few.operand.floats() + p * from.positionStride() + from.at(slot, 0),
                         products + p * few.products.positionStride() + slot * vectors * Width, tiles.groups(), blocks, vectors,
                         step.part > 0});
  }
}

}  // namespace

template <int Width, int Largest>
bool hasFewTiles(const Correlation<Width, Largest>& c) {
  constexpr std::int64_t leastWeights = 1 << 18;  // transformed
  const bool areMany = positions<Largest> * c.operand.channels * c.result.channels >= leastWeights;
  return areMany && c.grid.count() <= maxTiles && weightChunks<Width>(c.result.channels) > 1;
}

template <int Width, int Largest>
std::int64_t fewTilesScratchFloats(const Correlation<Width, Largest>& c, int threads) {
  const FewTiles<Width, Largest> few(c);
  return few.operandParts * few.operand.floats() + few.chunks * few.products.floats() + threads * few.weightFloats;
}

template <int Width, int Largest, class T>
void correlateFewTiles(const Correlation<Width, Largest>& c, const WeightStrides& strides, bool forward, int threads,
                       const CorrelationOperands<T>& operands) {
  const FewTiles<Width, Largest> few(c);
  const TapReader<Width> reader(operands.weights, strides, forward);
  float *weights = operands.scratch, *transformed = weights + threads * few.weightFloats,
        *products = transformed + few.operandParts * few.operand.floats();
  const auto productsOf = [&](std::int64_t chunk) { return products + chunk * few.products.floats(); };
  parallelTeam([&](std::int64_t member, std::int64_t members) {
    const Share read = shareOf(c.operand.blocks(), member, members);
    for (const auto& [tiles, slot] : few.sections)
      for (std::int64_t block = read.begin; block < read.end; ++block) {
        const std::int64_t part = block / few.partBlocks;
        const Transformed<Width, Largest> to{few.sections.slots(), few.blocks(part)};
        transformBlock(c.operand, operands.operand, tiles, c.windows, block, to, block % few.partBlocks,
                       transformed + part * few.operand.floats() + to.at(slot, 0));
      }
    teamBarrier();
    const Share tasks = shareOf(few.chunks * static_cast<std::int64_t>(few.pairs.size()), member, members);
    for (std::int64_t index = tasks.begin * few.operandParts; index < tasks.end * few.operandParts; ++index) {
      const Step<Width, Largest> step(few, index), next(few, index + 1);
      runStep(few, reader, step, index + 1 < tasks.end * few.operandParts ? &next : nullptr, transformed,
              weights + member * few.weightFloats, productsOf(step.chunk));
    }
    teamBarrier();
    const Share made = shareOf(c.result.blocks(), member, members);
    constexpr float nothing[Width] = {};
    for (std::int64_t block = made.begin; block < made.end; ++block) {
      const std::int64_t chunk = block / maxVectors<Width>, vectors = few.vectors(chunk), v = block % maxVectors<Width>;
      const Finish finish{operands.bias == nullptr ? nothing : operands.bias + block * Width, operands.slope};
      for (const auto& [tiles, slot] : few.sections)
        for (std::int64_t tile = 0; tile < tiles.count(); ++tile)
          storeTile<Width, Largest>(c.result, operands.result + c.result.at(tiles[tile].image, block), tiles[tile], tiles.size(),
                                    c.windows.dilation, productsOf(chunk) + ((slot + tile) * vectors + v) * Width,
                                    few.products.positionStride(), finish, false);
    }
  });
}

#define TILEFOLD_INSTANTIATE_OF(Width, T) \
  template void correlateFewTiles(const Correlation<Width, 4>&, const WeightStrides&, bool, int, const CorrelationOperands<T>&);
#define TILEFOLD_INSTANTIATE(Width)                                               \
  template bool hasFewTiles(const Correlation<Width, 4>&);                        \
  template std::int64_t fewTilesScratchFloats(const Correlation<Width, 4>&, int); \
  TILEFOLD_INSTANTIATE_OF(Width, float)                                           \
  TILEFOLD_INSTANTIATE_OF(Width, Bfloat16)
TILEFOLD_INSTANTIATE(8)
TILEFOLD_INSTANTIATE(16)
#undef TILEFOLD_INSTANTIATE
#undef TILEFOLD_INSTANTIATE_OF

}  // namespace tilefold::cpu::winograd
