#include "gradient.hpp"

#include "../processor/parallel.hpp"
#include "ahead.hpp"

namespace tilefold::cpu::winograd {
namespace {

// Channels go in pairs of chunks, so that the sums at the positions stay in a cache. Tiles go in
// runs: a run's products are summed in float, and from its end on in double, since one float sum
// over millions of tiles would lose its digits. Where the pairs are few, the runs are cut into
// parts that threads take side by side; nothing of this depends on the number of threads.
constexpr std::int64_t blockTiles = 24, maxRunTiles = 1008;
// Of about as many pixels.
template <int Largest>
constexpr std::int64_t minPartTiles = Largest == 6 ? 36 : 72;
// Channels of a chunk of either side. Large ones are transformed fewer times, once a chunk of the
// other side; but their fewer pairs are cut into more parts, and each part's sums are large.
constexpr std::int64_t largeChunk = 128, smallChunk = 64, leastTilesOfPart = 240;

template <int Width, int Largest>
struct Work {
  std::int64_t outVectors, inBlocks;  // blocks of channels of a whole chunk
  std::int64_t chunkOuts, chunkIns;   // its channels
  std::int64_t outChunks, inChunks, parts;
  bool isOneRun;       // of each part: its totals are floats then
  bool writesWeights;  // and need no place of their own, since a vector lies together in the weights

  explicit Work(const Gradient<Width, Largest>& g) : Work(g, largeChunk) {
    const bool pays = parts == 1 ? pairs() >= wantedTasks : g.grid.count() >= parts * leastTilesOfPart;
    if (!pays) *this = Work(g, smallChunk);
  }
  Work(const Gradient<Width, Largest>& g, std::int64_t chunk)
      : outVectors(std::min(g.destination.blocks(), chunk / Width)),
        inBlocks(std::min(g.source.blocks(), chunk / Width)),
        chunkOuts(outVectors * Width),
        chunkIns(inBlocks * Width),
        outChunks(ceilDivide(g.destination.blocks(), outVectors)),
        inChunks(ceilDivide(g.source.blocks(), inBlocks)) {
    parts = partsOfSums(pairs(), g.grid.count() / minPartTiles<Largest>);
    isOneRun = ceilDivide(g.grid.count(), parts) <= maxRunTiles;
    writesWeights = parts == 1 && isOneRun && g.laneStride() == 1;
  }
  std::int64_t pairs() const { return outChunks * inChunks; }
  std::int64_t tasks() const { return pairs() * parts; }
  // One vector a tap (or position), input channel and output block.
  std::int64_t matrix() const { return chunkIns * chunkOuts; }
  Transformed<Width, Largest> source() const { return {blockTiles, inBlocks}; }
  Transformed<Width, Largest> gradient() const { return {blockTiles, outVectors}; }
  std::int64_t sumStride() const { return matrix() + Width; }
  // What a thread works in: tiles of both sides, and sums.
  std::int64_t floats() const { return source().floats() + gradient().floats() + positions<Largest> * sumStride(); }
  // A part's totals: the bias's [out], then [tap][in][out].
  std::int64_t totalBytes() const {
    const std::size_t ofWeight = writesWeights ? 0 : isOneRun ? sizeof(float) : sizeof(double);
    return chunkOuts * static_cast<std::int64_t>(sizeof(double)) + taps * matrix() * static_cast<std::int64_t>(ofWeight);
  }
  std::int64_t totals(int threads) const { return parts == 1 ? threads : tasks(); }
};

template <class Total>
struct Totals {
  double* bias;
  Total* weights;

  template <int Width, int Largest>
  Totals(const Work<Width, Largest>& w, std::byte* memory, std::int64_t index)
      : bias(reinterpret_cast<double*>(memory + index * w.totalBytes())), weights(reinterpret_cast<Total*>(bias + w.chunkOuts)) {}
};

struct Workspace {
  float *source, *gradient, *sums;

  template <int Width, int Largest>
  Workspace(const Work<Width, Largest>& w, float* memory)
      : source(memory), gradient(source + w.source().floats()), sums(gradient + w.gradient().floats()) {}
};

// A pair of chunks: where it begins, and its channels.
struct Pair {
  std::int64_t outBlock, outs, inBlock, ins;
  template <int Width, int Largest>
  Pair(const Gradient<Width, Largest>& g, const Work<Width, Largest>& w, std::int64_t index)
      : outBlock(index / w.inChunks * w.outVectors),
        outs(std::min(w.outVectors, g.destination.blocks() - outBlock) * Width),
        inBlock(index % w.inChunks * w.inBlocks),
        ins(std::min(w.inBlocks, g.source.blocks() - inBlock) * Width) {}
};

// The gradient's layout is that of products: [position][tile][vector][Width].
template <int Width, int Largest, class T>
void transformGradients(const Gradient<Width, Largest>& g, const T* gradient, const Block& tiles, const Pair& pair,
                        const Transformed<Width, Largest>& layout, float* transformed, double* biasTotals) {
  const std::int64_t vectors = pair.outs / Width;
  for (std::int64_t v = 0; v < vectors; ++v) {
    alignas(64) float sum[Width] = {};
    const auto at = [&](std::int64_t tile) { return transformed + (tile * vectors + v) * Width; };
    forEachTile<Width, T>(
        tiles,
        [&](const Place& place, Pixels<Width, T>& from) {
          from.find(g.destination, gradient + g.destination.at(place.image, pair.outBlock + v), place.y, place.x, tiles.size(),
                    g.windows.dilation);
        },
        [&](std::int64_t tile, const Pixels<Width, T>& from) {
          from.with([&](const PixelGrid<const T>& source) {
            transformGradient<Width, Largest>(source, tiles.size(), at(tile), layout.positionStride(), sum);
          });
        });
    for (std::int64_t tile = tiles.count(); tile < tiles.groups() * groupTiles; ++tile)
      clear<Width, Largest>(at(tile), layout.positionStride());
    for (std::int64_t lane = 0; lane < Width; ++lane) biasTotals[v * Width + lane] += static_cast<double>(sum[lane]);
  }
}

// Writes the sums of a run's first block, and adds those of others.
template <int Width, int Largest, class T>
void addBlock(const Gradient<Width, Largest>& g, const Work<Width, Largest>& w, const GradientOperands<T>& operands, const Pair& pair,
              const Block& tiles, const std::optional<Block>& next, bool isFirst, const Workspace& space, double* biasTotals) {
  const Transformed<Width, Largest> from = w.source(), by = w.gradient();
  const Transformed<Width, Largest> source{from.tiles, pair.ins / Width};  // a smaller last chunk is as dense
  for (std::int64_t block = 0; block < source.blocks; ++block)
    transformBlock(g.source, operands.source, tiles, g.windows, pair.inBlock + block, source, block, space.source);
  transformGradients(g, operands.destinationGradient, tiles, pair, by, space.gradient, biasTotals);
  const std::int64_t vectors = pair.outs / Width;
  Ahead<Width, T> sourceAhead(g.source, operands.source, next, g.windows, 2, {pair.inBlock, source.blocks, 1}, positions<Largest>);
  Ahead<Width, T> gradientAhead(g.destination, operands.destinationGradient, next, {0, 0, g.windows.dilation}, 0,
                                {pair.outBlock, vectors, 1}, positions<Largest>);
  for (std::int64_t p = 0; p < positions<Largest>; ++p) {
    sourceAhead.fetchPart();
    gradientAhead.fetchPart();
    float* sums = space.sums + p * w.sumStride();
    if (hasPosition<Largest>(tiles.size(), p))
      accumulate<Width>({space.source + p * source.positionStride(), space.gradient + p * by.positionStride(), sums, tiles.groups(),
                         source.blocks, vectors, !isFirst});
    else if (isFirst)
      std::fill_n(sums, w.matrix(), 0.0F);
  }
}

// The weight of a pair's first tap, input channel i and output channel `out`.
template <int Width, int Largest>
std::int64_t weightAt(const Gradient<Width, Largest>& g, const Pair& pair, std::int64_t i, std::int64_t out) {
  return g.weights.out(pair.outBlock * Width + out) + g.weights.in(pair.inBlock * Width + i);
}

template <int Width, int Largest, class T, class Total>
void sumPart(const Gradient<Width, Largest>& g, const Work<Width, Largest>& w, const GradientOperands<T>& operands, const Pair& pair,
             const Share& tiles, const Workspace& space, const Totals<Total>& totals) {
  std::fill_n(totals.bias, w.chunkOuts, 0.0);
  if (!w.isOneRun) std::fill_n(totals.weights, taps * w.matrix(), Total(0));
  const std::int64_t runs = ceilDivide(tiles.end - tiles.begin, maxRunTiles);
  for (std::int64_t run = 0; run < runs; ++run) {
    const Share share = shareOf(tiles.end - tiles.begin, run, runs);
    bool isFirst = true;
    forEachBlock(g.grid, tiles.begin + share.begin, tiles.begin + share.end, blockTiles,
                 [&](const Block& block, const std::optional<Block>& next) {
                   addBlock(g, w, operands, pair, block, next, isFirst, space, totals.bias);
                   isFirst = false;
                 });
    for (std::int64_t i = 0; i < pair.ins; ++i)
      for (std::int64_t first = 0; first < pair.outs; first += Width) {
        const std::int64_t vector = i * pair.outs + first;
        if (w.writesWeights)
          restoreTaps<Width, Largest>(space.sums + vector, w.sumStride(), operands.weightGradient + weightAt(g, pair, i, first),
                                      g.weights.tapStride);
        else
          restoreTaps<Width, Largest>(space.sums + vector, w.sumStride(), totals.weights + vector, w.matrix());
      }
  }
}

// Sums over all parts, from the first one's on, of `count` totals.
template <int Width, int Largest, class Total, class Of>
void addParts(const Work<Width, Largest>& w, std::byte* memory, std::int64_t first, std::int64_t count, const Of& of, double* sums) {
  std::fill_n(sums, count, 0.0);
  for (std::int64_t part = 0; part < w.parts; ++part) {
    const auto* from = of(Totals<Total>(w, memory, first + part));
    for (std::int64_t i = 0; i < count; ++i) sums[i] += static_cast<double>(from[i]);
  }
}

// The totals of one of a pair's input channels to the weights' own layout.
template <int Width, int Largest, class Total>
void storeChannel(const Gradient<Width, Largest>& g, const Work<Width, Largest>& w, const Pair& pair, std::int64_t i, std::byte* memory,
                  std::int64_t firstPart, float* weights) {
  const std::int64_t laneStride = g.laneStride();
  for (std::int64_t first = 0; first < pair.outs; first += Width)
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      double sums[Width];
      addParts<Width, Largest, Total>(
          w, memory, firstPart, Width,
          [&](const Totals<Total>& totals) { return totals.weights + tap * w.matrix() + i * pair.outs + first; }, sums);
      float* weight = weights + weightAt(g, pair, i, first) + tap * g.weights.tapStride;
      if (laneStride == 1)
        for (std::int64_t lane = 0; lane < Width; ++lane) weight[lane] = static_cast<float>(sums[lane]);
      else
        for (std::int64_t lane = 0; lane < Width; ++lane) weight[lane * laneStride] = static_cast<float>(sums[lane]);
    }
}

template <int Width, int Largest, class Total>
void storeBias(const Work<Width, Largest>& w, const Pair& pair, std::byte* memory, std::int64_t firstPart, float* biasGradient) {
  if (biasGradient == nullptr || pair.inBlock != 0) return;
  double sums[largeChunk];
  addParts<Width, Largest, Total>(w, memory, firstPart, pair.outs, [](const Totals<Total>& totals) { return totals.bias; }, sums);
  for (std::int64_t out = 0; out < pair.outs; ++out) biasGradient[pair.outBlock * Width + out] = static_cast<float>(sums[out]);
}

template <int Width, int Largest, class T, class Total>
void sumAll(const Gradient<Width, Largest>& g, const Work<Width, Largest>& w, int threads, const GradientOperands<T>& operands) {
  std::byte* memory = operands.scratch + threads * w.floats() * static_cast<std::int64_t>(sizeof(float));
  const auto store = [&](const Pair& pair, std::int64_t i, std::int64_t firstPart) {
    if (i == 0) storeBias<Width, Largest, Total>(w, pair, memory, firstPart, operands.biasGradient);
    if (!w.writesWeights) storeChannel<Width, Largest, Total>(g, w, pair, i, memory, firstPart, operands.weightGradient);
  };
  parallelFor(w.tasks(), [&](std::int64_t task) {
    const Pair pair(g, w, task / w.parts);
    const Workspace space(w, reinterpret_cast<float*>(operands.scratch) + omp_get_thread_num() * w.floats());
    const std::int64_t part = w.parts == 1 ? omp_get_thread_num() : task;
    sumPart(g, w, operands, pair, shareOf(g.grid.count(), task % w.parts, w.parts), space, Totals<Total>(w, memory, part));
    if (w.parts > 1) return;
    for (std::int64_t i = 0; i < pair.ins; ++i) store(pair, i, part);
  });
  if (w.parts == 1) return;
  parallelFor(w.pairs() * w.chunkIns, [&](std::int64_t index) {
    const Pair pair(g, w, index / w.chunkIns);
    if (index % w.chunkIns < pair.ins) store(pair, index % w.chunkIns, index / w.chunkIns * w.parts);
  });
}

}  // namespace

// Workspaces, then totals.
template <int Width, int Largest>
std::int64_t gradientScratchBytes(const Gradient<Width, Largest>& g, int threads) {
  const Work<Width, Largest> w(g);
  return threads * w.floats() * static_cast<std::int64_t>(sizeof(float)) + w.totals(threads) * w.totalBytes();
}

template <int Width, int Largest, class T>
void weightGradient(const Gradient<Width, Largest>& g, int threads, const GradientOperands<T>& operands) {
  const Work<Width, Largest> w(g);
  if (w.isOneRun)
    sumAll<Width, Largest, T, float>(g, w, threads, operands);
  else
    sumAll<Width, Largest, T, double>(g, w, threads, operands);
}

#define TILEFOLD_INSTANTIATE(Width, Largest)                                                          \
  template std::int64_t gradientScratchBytes(const Gradient<Width, Largest>&, int);                   \
  template void weightGradient(const Gradient<Width, Largest>&, int, const GradientOperands<float>&); \
  template void weightGradient(const Gradient<Width, Largest>&, int, const GradientOperands<Bfloat16>&);
TILEFOLD_INSTANTIATE(8, 4)
TILEFOLD_INSTANTIATE(8, 6)
TILEFOLD_INSTANTIATE(16, 4)
TILEFOLD_INSTANTIATE(16, 6)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu::winograd
