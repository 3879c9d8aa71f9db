#include "winograd_gradient.hpp"

#include "parallel.hpp"
#include "winograd_ahead.hpp"

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
constexpr std::int64_t maxChunkOuts = 64, maxChunkIns = 64;
constexpr std::int64_t wantedTasks = 16;

template <int Width, int Largest>
struct Work {
  static constexpr std::int64_t outVectors = maxChunkOuts / Width, inBlocks = maxChunkIns / Width;
  std::int64_t outChunks, inChunks, parts;
  std::int64_t chunkOuts, chunkIns;  // channels of a whole chunk

  explicit Work(const Gradient<Width, Largest>& g)
      : outChunks(ceilDivide(g.destination.blocks(), outVectors)),
        inChunks(ceilDivide(g.source.blocks(), inBlocks)),
        parts(1),
        chunkOuts(std::min(g.destination.channels, maxChunkOuts)),
        chunkIns(std::min(g.source.channels, maxChunkIns)) {
    while (2 * parts * pairs() <= wantedTasks && 2 * parts * minPartTiles<Largest> <= g.grid.count()) parts *= 2;
  }
  std::int64_t pairs() const { return outChunks * inChunks; }
  std::int64_t tasks() const { return pairs() * parts; }
  // One vector a tap (or position), input channel and output block.
  std::int64_t matrix() const { return chunkIns * chunkOuts; }
  Transformed<Width, Largest> source() const { return {blockTiles, chunkIns / Width}; }
  Transformed<Width, Largest> gradient() const { return {blockTiles, chunkOuts / Width}; }
  std::int64_t sumStride() const { return matrix() + Width; }
};

// What one thread works in.
struct Workspace {
  float *source, *gradient, *sums;
  double* totals;  // [tap][in][out], then the bias's [out]

  template <int Width, int Largest>
  static std::int64_t floats(const Work<Width, Largest>& w) {
    return w.source().floats() + w.gradient().floats() + positions<Largest> * w.sumStride();
  }
  template <int Width, int Largest>
  static std::int64_t doubles(const Work<Width, Largest>& w) {
    return taps * w.matrix() + w.chunkOuts;
  }
  template <int Width, int Largest>
  static std::int64_t bytes(const Work<Width, Largest>& w) {
    return floats(w) * static_cast<std::int64_t>(sizeof(float)) + doubles(w) * static_cast<std::int64_t>(sizeof(double));
  }
  template <int Width, int Largest>
  Workspace(const Work<Width, Largest>& w, std::byte* memory)
      : source(reinterpret_cast<float*>(memory + doubles(w) * static_cast<std::int64_t>(sizeof(double)))),
        gradient(source + w.source().floats()),
        sums(gradient + w.gradient().floats()),
        totals(reinterpret_cast<double*>(memory)) {}
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

template <int Width, int Largest, class T>
void addBlock(const Gradient<Width, Largest>& g, const Work<Width, Largest>& w, const GradientOperands<T>& operands, const Pair& pair,
              const Block& tiles, const std::optional<Block>& next, const Workspace& space) {
  const Transformed<Width, Largest> from = w.source(), by = w.gradient();
  const Transformed<Width, Largest> source{from.tiles, pair.ins / Width};  // a smaller last chunk is as dense
  for (std::int64_t block = 0; block < source.blocks; ++block)
    transformBlock(g.source, operands.source, tiles, g.windows, pair.inBlock + block, source, block, space.source);
  transformGradients(g, operands.destinationGradient, tiles, pair, by, space.gradient, space.totals + taps * w.matrix());
  const std::int64_t vectors = pair.outs / Width;
  Ahead<Width, T> sourceAhead(g.source, operands.source, next, g.windows, 2, {pair.inBlock, source.blocks, 1}, positions<Largest>);
  Ahead<Width, T> gradientAhead(g.destination, operands.destinationGradient, next, {0, 0, g.windows.dilation}, 0,
                                {pair.outBlock, vectors, 1}, positions<Largest>);
  for (std::int64_t p = 0; p < positions<Largest>; ++p) {
    sourceAhead.fetchPart();
    gradientAhead.fetchPart();
    if (hasPosition<Largest>(tiles.size(), p))
      accumulate<Width>({space.source + p * source.positionStride(), space.gradient + p * by.positionStride(),
                         space.sums + p * w.sumStride(), tiles.groups(), source.blocks, vectors});
  }
}

template <int Width, int Largest, class T>
void sumPart(const Gradient<Width, Largest>& g, const Work<Width, Largest>& w, const GradientOperands<T>& operands, const Pair& pair,
             const Share& tiles, const Workspace& space) {
  std::fill_n(space.totals, Workspace::doubles(w), 0.0);
  const std::int64_t runs = ceilDivide(tiles.end - tiles.begin, maxRunTiles);
  for (std::int64_t run = 0; run < runs; ++run) {
    const Share share = shareOf(tiles.end - tiles.begin, run, runs);
    std::fill_n(space.sums, positions<Largest> * w.sumStride(), 0.0F);
    forEachBlock(g.grid, tiles.begin + share.begin, tiles.begin + share.end, blockTiles,
                 [&](const Block& block, const std::optional<Block>& next) { addBlock(g, w, operands, pair, block, next, space); });
    for (std::int64_t vector = 0; vector < pair.ins * pair.outs; vector += Width)
      restoreTaps<Width, Largest>(space.sums + vector, w.sumStride(), space.totals + vector, w.matrix());
  }
}

// totals[tap][in][out] of a pair to the weights' own layout.
template <int Width, int Largest, class Total>
void storeWeights(const WeightStrides& to, const Work<Width, Largest>& w, const Pair& pair, const Total& total, float* weights) {
  for (std::int64_t first = 0; first < pair.outs; first += Width) {
    // The layout is plain or in blocks of `Width` outputs, so these are equally far apart.
    const std::int64_t out = to.out(pair.outBlock * Width + first), laneStride = to.out(pair.outBlock * Width + first + 1) - out;
    for (std::int64_t i = 0; i < pair.ins; ++i) {
      const std::int64_t in = to.in(pair.inBlock * Width + i);
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        float* weight = weights + out + in + tap * to.tapStride;
        const std::int64_t from = tap * w.matrix() + i * pair.outs + first;
        if (laneStride == 1)
          for (std::int64_t lane = 0; lane < Width; ++lane) weight[lane] = static_cast<float>(total(from + lane));
        else
          for (std::int64_t lane = 0; lane < Width; ++lane) weight[lane * laneStride] = static_cast<float>(total(from + lane));
      }
    }
  }
}

template <int Width, int Largest, class T, class Total>
void store(const Gradient<Width, Largest>& g, const Work<Width, Largest>& w, const GradientOperands<T>& operands, const Pair& pair,
           const Total& total) {
  storeWeights(g.weights, w, pair, total, operands.weightGradient);
  if (operands.biasGradient == nullptr || pair.inBlock != 0) return;
  for (std::int64_t o = 0; o < pair.outs; ++o)
    operands.biasGradient[pair.outBlock * Width + o] = static_cast<float>(total(taps * w.matrix() + o));
}

}  // namespace

// Workspaces, then the totals of each task where tasks are parts of a sum.
template <int Width, int Largest>
std::int64_t gradientScratchBytes(const Gradient<Width, Largest>& g, int threads) {
  const Work<Width, Largest> w(g);
  const std::int64_t kept = w.parts == 1 ? 0 : w.tasks() * Workspace::doubles(w) * static_cast<std::int64_t>(sizeof(double));
  return threads * Workspace::bytes(w) + kept;
}

template <int Width, int Largest, class T>
void weightGradient(const Gradient<Width, Largest>& g, int threads, const GradientOperands<T>& operands) {
  const Work<Width, Largest> w(g);
  double* kept = reinterpret_cast<double*>(operands.scratch + threads * Workspace::bytes(w));
  parallelFor(w.tasks(), [&](std::int64_t task) {
    const Pair pair(g, w, task / w.parts);
    Workspace space(w, operands.scratch + omp_get_thread_num() * Workspace::bytes(w));
    if (w.parts > 1) space.totals = kept + task * Workspace::doubles(w);
    sumPart(g, w, operands, pair, shareOf(g.grid.count(), task % w.parts, w.parts), space);
    if (w.parts == 1) store(g, w, operands, pair, [&](std::int64_t i) { return space.totals[i]; });
  });
  if (w.parts == 1) return;
  parallelFor(w.pairs(), [&](std::int64_t index) {
    const double* first = kept + index * w.parts * Workspace::doubles(w);
    store(g, w, operands, Pair(g, w, index), [&](std::int64_t i) {
      double sum = 0;
      for (std::int64_t part = 0; part < w.parts; ++part) sum += first[part * Workspace::doubles(w) + i];
      return sum;
    });
  });
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
