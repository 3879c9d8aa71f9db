#include "pair_weight_gradient.hpp"

#include <cstring>

#include "../processor/processor.hpp"
#include "gradient_strips.hpp"
#include "pair_loops.hpp"

namespace tilefold::cpu {
namespace {

// What is packed of either side should stay in a core's second cache.
constexpr std::int64_t packedBytes = 256 * 1024;
constexpr std::int64_t minPixels = 256, maxPixels = 1024;  // of a strip
constexpr std::int64_t leastPixels = 128;                  // of many images: fewer do not pay for adding their sums
constexpr std::int64_t leastMatrices = 4;                  // a thread, or it packs more than it multiplies
constexpr std::int64_t area = pairLanes * pairLanes;

// The strips of all images, and what a thread packs of one.
struct Strips : GradientStrips {
  std::int64_t rowElements;
  std::int64_t sourceRows;  // packed

  Strips(const Convolution& c, int threads) : GradientStrips(c) {
    share(threads, [this](double ins, double outs) {
      const auto across = static_cast<double>(axes.columns.kernel), down = static_cast<double>(axes.rows.kernel);
      return across * ins * (8 * outs * down + 2) + 2 * outs;
    });
    const WindowAxis &rows = axes.rows, &columns = axes.columns;
    constexpr std::int64_t pixelBytes = pairLanes * static_cast<std::int64_t>(sizeof(Bfloat16));
    const std::int64_t pixels = std::clamp(packedBytes / (outBlocks * pixelBytes), minPixels, maxPixels);
    width = ceilDivide(columns.out, ceilDivide(columns.out, pixels));
    height = std::clamp<std::int64_t>(pixels / columns.out, 1, rows.out);
    rowElements = ceilDivide(width, 2) * pairElements;
    rowStep = std::min(rows.dilation, height * rows.stride);
    sourceRows = rowsRead(height);
    sourceBlock = checkedMultiply(checkedMultiply(columns.kernel, sourceRows), rowElements);
    constexpr std::int64_t packedElements = packedBytes / static_cast<std::int64_t>(sizeof(Bfloat16));
    sourceBlocks = std::clamp<std::int64_t>(packedElements / sourceBlock, 1, ceilDivide(inBlocks, inParts));
    gradientElements = checkedMultiply(ceilDivide(outBlocks, outParts), height * rowElements);
  }
};

// What one thread sums.
class Job : GradientJob {
 public:
  Job(const Strips& strips, std::int64_t index, const std::vector<Operand>& operands) : GradientJob(strips, index, operands), s_(strips) {}

  void run() const {
    s_.forStrips([&](const GradientStrip& strip) { addStrip(strip); });
  }

 private:
  void addStrip(const GradientStrip& strip) const {
    forGradientRows(strip, s_.rowElements, [&](const Bfloat16* first, Bfloat16* to) {
      packPairs({first, pairLanes, 0, strip.width, strip.width}, to);
    });
    const std::int64_t groups = ceilDivide(outs_.end - outs_.begin, maxPairBlocks);
    forSources([&](std::int64_t in, Bfloat16* to) { packSource(strip, in, to); },
               [&](const Share& ins) {
                 for (std::int64_t group = 0; group < groups; ++group)
                   for (std::int64_t in = ins.begin; in < ins.end; ++in)
                     multiply(strip, in, packedSource_ + (in - ins.begin) * s_.sourceBlock,
                              shareOf(outs_.end - outs_.begin, group, groups));
               });
  }

  // [tap of the columns][row]: a tap reads pixels of its own, and pairs them by itself.
  void packSource(const GradientStrip& strip, std::int64_t in, Bfloat16* to) const {
    const WindowAxis& columns = s_.axes.columns;
    forSourceRows(strip, in, [&](std::int64_t row, const Bfloat16* pixels) {
      for (std::int64_t tap = 0; tap < columns.kernel; ++tap) {
        const TapRange range = columns.range(tap);
        packPairs({pixels + (strip.left * columns.stride + range.shift) * pairLanes, columns.stride * pairLanes, range.begin - strip.left,
                   range.end - strip.left, strip.width},
                  to + (tap * s_.sourceRows + row) * s_.rowElements);
      }
    });
  }

  void multiply(const GradientStrip& strip, std::int64_t in, const Bfloat16* source, const Share& outs) const {
    const WindowAxis &rows = s_.axes.rows, &columns = s_.axes.columns;
    const std::int64_t stride = s_.inBlocks * rows.kernel * columns.kernel * area, count = outs.end - outs.begin;
    float* matrices = weightGradient_ + (outs_.begin + outs.begin) * stride + in * rows.kernel * columns.kernel * area;
    for (std::int64_t tap = 0; tap < rows.kernel; ++tap) {
      const TapRange range = rows.range(tap);
      const std::int64_t begin = std::max(range.begin, strip.top) - strip.top, end = std::min(range.end - strip.top, strip.height);
      const Bfloat16* gradient = packedGradient_ + (outs.begin * s_.height + begin) * s_.rowElements;
      for (std::int64_t column = 0; column < columns.kernel; ++column, matrices += area) {
        const std::int64_t row = column * s_.sourceRows + begin * rows.stride + tap * s_.rowStep;
        const Share pairs = pairsInside(columns.range(column), strip);
        if (begin < end && pairs.begin < pairs.end)
          multiplyPairs({source + row * s_.rowElements + pairs.begin * pairElements, rows.stride * s_.rowElements,
                         gradient + pairs.begin * pairElements, s_.rowElements, s_.height * s_.rowElements, end - begin,
                         pairs.end - pairs.begin, count, matrices, stride, !strip.isFirst});
        else if (strip.isFirst)
          for (std::int64_t out = 0; out < count; ++out) std::fill_n(matrices + out * stride, area, 0.0F);
      }
    }
  }

  // The pairs of a strip's pixels of which a tap reads the source's.
  static Share pairsInside(const TapRange& columns, const GradientStrip& strip) {
    return {std::max<std::int64_t>(0, columns.begin - strip.left) / 2, ceilDivide(std::min(columns.end - strip.left, strip.width), 2)};
  }

  const Strips& s_;
};

}  // namespace

bool fitsPairWeightGradient(KernelKind kind, const Convolution& c, int threads) {
  if (kind != KernelKind::convolutionBackwardWeights || !multipliesPairs() || !isInBlocksOf16(c) || c.weightLayout != Layout::OIhw16i16o)
    return false;
  const Strips strips(c, threads);
  return strips.inBlocks * strips.outBlocks >= leastMatrices * threads &&
         (strips.axes.images == 1 || strips.height * strips.width >= leastPixels);
}

std::size_t pairWeightGradientScratchBytes(const Convolution& c, int threads) { return Strips(c, threads).scratchBytes(); }

Launch compilePairWeightGradient(const Convolution& c, int threads) { return launchGradientJobs<Job>(c, Strips(c, threads)); }

}  // namespace tilefold::cpu
