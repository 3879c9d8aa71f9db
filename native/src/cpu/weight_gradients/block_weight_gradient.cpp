#include "block_weight_gradient.hpp"

#include "../processor/processor.hpp"
#include "block_gradient_loops.hpp"
#include "gradient_strips.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t area = gradientLanes * gradientLanes;
// A strip of four blocks takes two thirds of a core's first cache, and totals stay in its second.
constexpr std::int64_t maxStripPixels = 128;
constexpr std::int64_t maxChunkIns = 4, maxMatrices = 36;  // of one block of the gradient

// How sums are shared: chunks of blocks of both sides, all about as large, and parts of the strips
// where those are few. Nothing of it depends on the number of threads.
struct BlockStrips : ImageStrips {
  std::int64_t taps, inChunks, outChunks, parts;

  explicit BlockStrips(const Convolution& c)
      : ImageStrips(c),
        taps(c.kernelHeight * c.kernelWidth),
        inChunks(ceilDivide(inBlocks, std::clamp<std::int64_t>(maxMatrices / taps, 1, maxChunkIns))),
        outChunks(ceilDivide(outBlocks, maxGradientBlocks)) {
    const WindowAxis &rows = axes.rows, &columns = axes.columns;
    width = ceilDivide(columns.out, ceilDivide(columns.out, maxStripPixels));
    height = std::clamp<std::int64_t>(maxStripPixels / columns.out, 1, rows.out);
    parts = partsOfSums(pairs(), count());
  }
  std::int64_t pairs() const { return inChunks * outChunks; }
  std::int64_t tasks() const { return pairs() * parts; }
  // A part's totals: [out block][in block][tap][in lane][out lane].
  std::int64_t doubles() const {
    return checkedMultiply(checkedMultiply(ceilDivide(outBlocks, outChunks), ceilDivide(inBlocks, inChunks)), taps * area);
  }
  std::int64_t totals(int threads) const { return parts == 1 ? threads : tasks(); }
};

// Blocks of both sides whose pairs are summed together.
struct BlockPairs {
  Share ins, outs;

  BlockPairs(const BlockStrips& s, std::int64_t pair)
      : ins(shareOf(s.inBlocks, pair % s.inChunks, s.inChunks)), outs(shareOf(s.outBlocks, pair / s.inChunks, s.outChunks)) {}
  std::int64_t inCount() const { return ins.end - ins.begin; }
  std::int64_t outCount() const { return outs.end - outs.begin; }
};

// Adds the products of one strip, of which a tap meets a part.
void addStrip(const BlockStrips& s, const GradientStrip& strip, const BlockPairs& pairs, const float* source, const float* gradient,
              double* totals) {
  const WindowAxis &rows = s.axes.rows, &columns = s.axes.columns;
  const PixelsApart &from = s.axes.source, &by = s.axes.gradient;
  const std::int64_t totalsBlockStep = pairs.inCount() * s.taps * area;
  for (std::int64_t in = pairs.ins.begin; in < pairs.ins.end; ++in)
    for (std::int64_t tap = 0; tap < s.taps; ++tap, totals += area) {
      const TapRange ys = rows.range(tap / columns.kernel), xs = columns.range(tap % columns.kernel);
      const std::int64_t y = std::max(strip.top, ys.begin), x = std::max(strip.left, xs.begin);
      const std::int64_t height = std::min(strip.top + strip.height, ys.end) - y, width = std::min(strip.left + strip.width, xs.end) - x;
      if (height <= 0 || width <= 0) continue;
      addBlockProducts({source + strip.image * from.image + in * from.block + (y * rows.stride + ys.shift) * from.row +
                            (x * columns.stride + xs.shift) * gradientLanes,
                        rows.stride * from.row, columns.stride * gradientLanes,
                        gradient + strip.image * by.image + pairs.outs.begin * by.block + y * by.row + x * gradientLanes, by.row, by.block,
                        height, width, pairs.outCount(), totals, totalsBlockStep});
    }
}

// Sums the totals of all parts, the first of which is given, for one block of either side.
void storeBlock(const BlockStrips& s, const BlockPairs& pairs, std::int64_t in, std::int64_t out, const double* totals,
                float* weightGradient) {
  const std::int64_t ofPart = s.doubles();
  const double* from = totals + (out * pairs.inCount() + in) * s.taps * area;
  float* to = weightGradient + ((pairs.outs.begin + out) * s.inBlocks + pairs.ins.begin + in) * s.taps * area;
  for (std::int64_t tap = 0; tap < s.taps; ++tap, from += area, to += area) {
    double sums[area] = {};
    for (std::int64_t part = 0; part < s.parts; ++part)
      for (std::int64_t i = 0; i < area; ++i) sums[i] += from[part * ofPart + i];
    for (std::int64_t i = 0; i < area; ++i) to[i] = static_cast<float>(sums[i]);
  }
}

}  // namespace

bool fitsBlockWeightGradient(KernelKind kind, const Convolution& c) {
  return kind == KernelKind::convolutionBackwardWeights && machineBlock() == gradientLanes && isInBlocksOf16(c) &&
         c.weightLayout == Layout::OIhw16i16o;
}

std::size_t blockWeightGradientScratchBytes(const Convolution& c, int threads) {
  const BlockStrips strips(c);
  return static_cast<std::size_t>(checkedMultiply(checkedMultiply(strips.totals(threads), strips.doubles()), sizeof(double)));
}

Launch compileBlockWeightGradient(const Convolution& c) {
  const BlockStrips s(c);
  const Launch biasGradient = sumBiasOf<float>(c);
  return [=](const std::vector<Operand>& operands, const StepParameters& step) {
    const float *source = elements<const float>(operands, 0), *gradient = elements<const float>(operands, 1);
    float* weightGradient = elements(operands, 2);
    double* scratch = elements<double>(operands, 4);
    parallelFor(s.tasks(), [&](std::int64_t task) {
      const BlockPairs pairs(s, task / s.parts);
      double* totals = scratch + (s.parts == 1 ? omp_get_thread_num() : task) * s.doubles();
      std::fill_n(totals, s.doubles(), 0.0);
      const Share strips = shareOf(s.count(), task % s.parts, s.parts);
      for (std::int64_t strip = strips.begin; strip < strips.end; ++strip) addStrip(s, s.strip(strip), pairs, source, gradient, totals);
      if (s.parts > 1) return;
      for (std::int64_t out = 0; out < pairs.outCount(); ++out)
        for (std::int64_t in = 0; in < pairs.inCount(); ++in) storeBlock(s, pairs, in, out, totals, weightGradient);
    });
    if (s.parts > 1)
      parallelFor(s.pairs() * maxGradientBlocks * maxChunkIns, [&](std::int64_t index) {
        const std::int64_t pair = index / (maxGradientBlocks * maxChunkIns);
        const std::int64_t out = index / maxChunkIns % maxGradientBlocks, in = index % maxChunkIns;
        const BlockPairs pairs(s, pair);
        if (out < pairs.outCount() && in < pairs.inCount())
          storeBlock(s, pairs, in, out, scratch + pair * s.parts * s.doubles(), weightGradient);
      });
    if (operands[3].address != nullptr) biasGradient({operands[1], operands[3]}, step);
  };
}

}  // namespace tilefold::cpu
