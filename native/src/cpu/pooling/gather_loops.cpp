#include "gather_loops.hpp"

#include <algorithm>

#include "../processor/streaming.hpp"
#include "../vectors/pixel_vectors.hpp"

namespace tilefold::cpu {
namespace {

// Sums of more than so many terms along an axis go on in double; a run has no more operands, and no
// more results, which as floats of 16 lanes take a quarter of a first cache of 32 KiB.
constexpr std::int64_t longest = 128;

template <int Block, class T>
TILEFOLD_INLINE typename Lanes<Block>::Floats weightedSum(const T* pixels, const float* weights, std::int64_t count) {
  typename Lanes<Block>::Floats sum = weights[0] * Lanes<Block>::at(pixels);
  for (std::int64_t i = 1; i < count; ++i) sum += weights[i] * Lanes<Block>::at(pixels + i * Block);
  return sum;
}

template <int Block, class T>
TILEFOLD_INLINE void gatherLong(const GatherRows<T>& g, const Terms& columns, T* result) {
  double sum[Block] = {};
  for (std::int64_t y = 0; y < g.rows.count; ++y) {
    const T* operand = g.operand + ((g.rows.begin + y) * g.operandWidth + columns.begin) * Block;
    for (std::int64_t begin = 0; begin < columns.count; begin += longest) {
      const typename Lanes<Block>::Floats part =
          weightedSum<Block, T>(operand + begin * Block, columns.weights + begin, std::min(longest, columns.count - begin));
      addLanes<Block>(g.rows.weights[y] * part, sum);
    }
  }
  for (int lane = 0; lane < Block; ++lane) result[lane] = T(sum[lane]);
}

// Adds `Rows` rows of operands to sums, or writes their sums there; channels as a Pixel has them.
template <int Block, int Rows, bool Add, class T>
TILEFOLD_INLINE void sumRows(const T* operand, std::int64_t below, const float* weights, std::int64_t count, float* sums) {
  using P = Pixel<Block, T>;
  // What is stored might be any of what is read, where that is not the loop's own.
  float own[Rows];
  for (int y = 0; y < Rows; ++y) own[y] = weights[y];
  for (std::int64_t i = 0; i < count; i += Block) {
    P pixels[Rows];
    for (int y = 0; y < Rows; ++y) pixels[y] = P::at(operand + y * below + i);
    // Processors foresee little across rows, which are pages of their own. 2: not to the first
    // cache.
    for (int y = 0; y < Rows; ++y) __builtin_prefetch(operand + (y + Rows) * below + i, 0, 2);
    for (int v = 0; v < P::vectors; ++v) {
      float* sum = sums + i + v * P::width;
      typename P::Vector::Floats total = own[0] * pixels[0].values[v];
      for (int y = 1; y < Rows; ++y) total += own[y] * pixels[y].values[v];
      if (Add) total += P::Vector::at(sum);
      P::Vector::put(sum, total);
    }
  }
}

// Of `Count` terms; of any number for 0.
template <int Block, int Count, class T>
TILEFOLD_INLINE void putSum(const float* sums, const float* weights, std::int64_t count, T* result) {
  using P = Pixel<Block, T>;
  P pixel;
  for (int v = 0; v < P::vectors; ++v) {
    const float* own = sums + v * P::width;
    pixel.values[v] = weights[0] * P::Vector::at(own);
    for (std::int64_t i = 1; i < (Count > 0 ? Count : count); ++i) pixel.values[v] += weights[i] * P::Vector::at(own + i * Block);
  }
  pixel.put(result);
}

// result[0]: of column run.first.
template <int Block, class T>
TILEFOLD_INLINE void sumColumns(const Terms* columns, const ColumnRun& run, const float* sums, T* result) {
  for (std::int64_t x = run.first; x < run.end; ++x, result += Block) {
    const Terms& terms = columns[x];
    const float* operand = sums + (terms.begin - run.from) * Block;
    if (terms.repeats && x > run.first)
      std::memcpy(static_cast<void*>(result), result - Block, Block * sizeof(T));
    else if (terms.count == 1)
      putSum<Block, 1>(operand, terms.weights, 1, result);
    else if (terms.count == 2)
      putSum<Block, 2>(operand, terms.weights, 2, result);
    else if (terms.count == 0)
      std::fill_n(result, Block, T(0.0F));
    else
      putSum<Block, 0>(operand, terms.weights, terms.count, result);
  }
}

template <int Block, class T>
TILEFOLD_INLINE void gatherRun(const GatherRows<T>& g, const ColumnRun& run, T* result) {
  if (g.rows.count == 0 || run.from == run.to) return void(std::fill_n(result, (run.end - run.first) * Block, T(0.0F)));
  if (g.rows.count > longest || run.to - run.from > longest) {
    for (std::int64_t x = run.first; x < run.end; ++x) gatherLong<Block>(g, g.columns[x], result + (x - run.first) * Block);
    return;
  }
  alignas(64) float sums[longest * Block];
  const std::int64_t below = g.operandWidth * Block, count = (run.to - run.from) * Block, rows = g.rows.count;
  const T* operand = g.operand + g.rows.begin * below + run.from * Block;
  const float* weights = g.rows.weights;
  std::int64_t y = std::min<std::int64_t>(rows, 2);
  if (y == 1)
    sumRows<Block, 1, false>(operand, below, weights, count, sums);
  else
    sumRows<Block, 2, false>(operand, below, weights, count, sums);
  for (; y + 4 <= rows; y += 4) sumRows<Block, 4, true>(operand + y * below, below, weights + y, count, sums);
  for (; y < rows; ++y) sumRows<Block, 1, true>(operand + y * below, below, weights + y, count, sums);
  sumColumns<Block>(g.columns, run, sums, result);
}

template <int Block, class T>
TILEFOLD_INLINE void gatherBlock(const GatherRows<T>& g, T* result) {
  alignas(64) T held[longest * Block];
  const std::int64_t row = g.width * Block;
  for (const ColumnRun& run : g.runs) {
    T* first = result + run.first * Block;
    const std::size_t bytes = static_cast<std::size_t>((run.end - run.first) * Block) * sizeof(T);
    gatherRun<Block>(g, run, g.streams ? held : first);
    for (std::int64_t y = 0; g.streams && y < g.count; ++y) stream(held, first + y * row, bytes);
    for (std::int64_t y = 1; !g.streams && y < g.count; ++y) std::memcpy(static_cast<void*>(first + y * row), first, bytes);
  }
}

}  // namespace

std::vector<ColumnRun> columnRuns(const std::vector<Terms>& columns) {
  std::vector<ColumnRun> runs;
  const auto count = static_cast<std::int64_t>(columns.size());
  for (std::int64_t x = 0; x < count; ++x) {
    const Terms& terms = columns[static_cast<std::size_t>(x)];
    const std::int64_t from = terms.begin, to = terms.begin + terms.count;
    const bool hasRoom = !runs.empty() && x - runs.back().first < longest;
    // What is the sum of nothing reads nothing.
    if (hasRoom && terms.count == 0)
      runs.back().end = x + 1;
    else if (hasRoom && from >= runs.back().from && to - runs.back().from <= longest)
      runs.back() = {runs.back().first, x + 1, runs.back().from, std::max(runs.back().to, to)};
    else
      runs.push_back({x, x + 1, from, to});
  }
  return runs;
}

template <class T>
void gatherRows(const GatherRows<T>& rows, T* result, std::int64_t block) {
  forProcessor([=, &rows]() TILEFOLD_INLINED {
    if (block == 16)
      gatherBlock<16>(rows, result);
    else
      gatherBlock<8>(rows, result);
  });
}

template void gatherRows(const GatherRows<float>&, float*, std::int64_t);
template void gatherRows(const GatherRows<Bfloat16>&, Bfloat16*, std::int64_t);

}  // namespace tilefold::cpu
