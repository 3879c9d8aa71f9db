#include "weight_gradient.hpp"

#include <array>

#include "../processor/processor.hpp"
#include "../vectors/constants.hpp"
#include "../weight_gradients/gradient_strips.hpp"
#include "amx.hpp"
#include "loops.hpp"

namespace tilefold::cpu {
namespace {

// What is packed of either side should stay in a core's second cache.
constexpr std::int64_t packedElements = 512 * 1024 / static_cast<std::int64_t>(sizeof(Bfloat16));
constexpr std::int64_t leastPixels = 1024, mostPixels = 2048;  // of a strip: fewer add too often to what is summed
constexpr std::int64_t widest = 256;                           // so that rows above each other are packed once
constexpr std::int64_t timesFaster = 8;                        // than what all threads share, where there are fewer matrices than threads
constexpr int sourcesAtOnce = 2, blocksAtOnce = 2;             // of which registers hold the sums

// The strips of all images, and what a thread packs of one.
struct Strips : GradientStrips {
  std::int64_t paddedWidth;
  // Packed, of the source: a row of each lane, and all lanes, for each tap of the columns where
  // strides or distances give each pixels of its own.
  std::int64_t lane, copies, row;
  std::int64_t gradientRow;

  Strips(const Convolution& c, int threads) : GradientStrips(c) {
    share(threads, [this](double ins, double outs) {
      return ins * (16 * outs * static_cast<double>(axes.rows.kernel * axes.columns.kernel) + 128) + 64 * outs;
    });
    const WindowAxis &rows = axes.rows, &columns = axes.columns;
    const std::int64_t pixels = std::clamp(packedElements / (outBlocks * amxLanes), leastPixels, mostPixels);
    const std::int64_t most = std::min(rows.out == 1 ? mostPixels : widest, pixels);
    paddedWidth = roundUp(ceilDivide(columns.out, ceilDivide(columns.out, most)), amxRow);
    width = std::min(paddedWidth, columns.out);
    height = std::clamp<std::int64_t>(pixels / paddedWidth, 1, rows.out);
    copies = columns.stride == 1 && reach() <= paddedWidth ? 1 : columns.kernel;
    lane = copies > 1 ? paddedWidth : roundUp(checkedAdd(paddedWidth, reach()), amxRow);
    // Rows 16 of which would fall into the same few sets of the first cache are made longer.
    if (lane % (16 * amxRow) == 0) lane += amxRow;
    row = copies * amxLanes * lane;
    rowStep = std::min(rows.dilation, height * rows.stride);
    sourceBlock = checkedMultiply(rowsRead(height), row);
    sourceBlocks = std::clamp<std::int64_t>(packedElements / sourceBlock, 1, ceilDivide(inBlocks, inParts));
    gradientRow = paddedWidth * amxLanes;
    gradientElements = checkedMultiply(ceilDivide(outBlocks, outParts), height * gradientRow);
  }

  // Of the columns, from the first tap to the last.
  std::int64_t reach() const { return (axes.columns.kernel - 1) * axes.columns.dilation; }
  // Where a tap's pixels begin in a packed row.
  std::int64_t tapAt(std::int64_t tap) const { return copies > 1 ? tap * amxLanes * lane : tap * axes.columns.dilation; }
};

// One source's share in a gradient: packed pixels of a tap, and the matrices that they add to.
struct Source {
  const Bfloat16* pixels;
  float* matrices;
  Share steps;  // times 32 pixels of a row
};

// What one thread sums.
class Job : GradientJob {
 public:
  Job(const Strips& strips, std::int64_t index, const std::vector<Operand>& operands) : GradientJob(strips, index, operands), s_(strips) {}

  void run() const {
    constexpr auto all = static_cast<std::uint8_t>(amx::registerRows);
    const amx::Registers registers({all, all, all, all, all, all, all, all});
    s_.forStrips([&](const GradientStrip& strip) { addStrip(strip); });
  }

 private:
  void addStrip(const GradientStrip& strip) const {
    forGradientRows(strip, s_.gradientRow,
                    [&](const Bfloat16* first, Bfloat16* to) { packPairsOfPixels(first, strip.width, s_.paddedWidth, to); });
    forSources([&](std::int64_t in, Bfloat16* to) { packSource(strip, in, to); },
               [&](const Share& ins) {
                 for (std::int64_t out = outs_.begin; out < outs_.end; out += blocksAtOnce)
                   for (std::int64_t tap = 0; tap < s_.axes.rows.kernel; ++tap)
                     addTaps(strip, ins, {out, std::min<std::int64_t>(out + blocksAtOnce, outs_.end)}, tap);
               });
  }

  void packSource(const GradientStrip& strip, std::int64_t in, Bfloat16* to) const {
    const WindowAxis& columns = s_.axes.columns;
    const std::int64_t wanted = s_.copies > 1 ? strip.width : strip.width + s_.reach();
    forSourceRows(strip, in, [&](std::int64_t row, const Bfloat16* pixels) {
      for (std::int64_t copy = 0; copy < s_.copies; ++copy) {
        const std::int64_t at = strip.left * columns.stride + copy * columns.dilation - columns.padBefore;  // the first pixel's column
        const std::int64_t begin = at < 0 ? ceilDivide(-at, columns.stride) : 0;
        const std::int64_t end = std::min(wanted, at < columns.in ? (columns.in - 1 - at) / columns.stride + 1 : 0);
        packPixels(pixels + at * amxLanes, columns.stride * amxLanes, begin, end, s_.lane, to + row * s_.row + copy * amxLanes * s_.lane,
                   s_.lane);
      }
    });
  }

  // What one tap of the rows gives, in two sources at a time.
  void addTaps(const GradientStrip& strip, const Share& ins, const Share& outs, std::int64_t tap) const {
    const WindowAxis &rows = s_.axes.rows, &columns = s_.axes.columns;
    const std::int64_t matrices = s_.inBlocks * rows.kernel * columns.kernel * amxSums;  // of a block of the results
    const TapRange range = rows.range(tap);
    const Share lines{std::max(range.begin, strip.top) - strip.top, std::min(range.end - strip.top, strip.height)};
    std::array<Source, sourcesAtOnce> sources;
    std::int64_t count = 0;
    const auto flush = [&] {
      withConstant<0, sourcesAtOnce>(count, [&](auto sourcesOf) {
        withConstant<1, blocksAtOnce>(outs.end - outs.begin, [&](auto blocksOf) {
          if constexpr (decltype(sourcesOf)::value > 0)
            multiply<decltype(sourcesOf)::value, decltype(blocksOf)::value>(sources, lines, outs.begin, matrices, !strip.isFirst);
        });
      });
      count = 0;
    };
    for (std::int64_t in = ins.begin; in < ins.end; ++in)
      for (std::int64_t column = 0; column < columns.kernel; ++column) {
        float* own = weightGradient_ + outs.begin * matrices + ((in * rows.kernel + tap) * columns.kernel + column) * amxSums;
        const Share steps = stepsInside(columns.range(column), strip);
        if (lines.begin >= lines.end || steps.begin >= steps.end) {
          if (strip.isFirst)
            for (std::int64_t out = outs.begin; out < outs.end; ++out, own += matrices) std::fill_n(own, amxSums, 0.0F);
          continue;
        }
        // Which sources go together depends on the threads: none may multiply more zeros for it.
        if (count > 0 && (sources[0].steps.begin != steps.begin || sources[0].steps.end != steps.end)) flush();
        const std::int64_t row = lines.begin * rows.stride + tap * s_.rowStep;
        sources[static_cast<std::size_t>(count++)] = {packedSource_ + (in - ins.begin) * s_.sourceBlock + row * s_.row + s_.tapAt(column),
                                                      own, steps};
        if (count == sourcesAtOnce) flush();
      }
    flush();
  }

  // Of a strip's pixels, 32 at a time: those where a tap reads the source's.
  static Share stepsInside(const TapRange& columns, const GradientStrip& strip) {
    return {std::max<std::int64_t>(0, columns.begin - strip.left) / amxRow,
            ceilDivide(std::min(columns.end - strip.left, strip.width), amxRow)};
  }

  template <int Sources, int Blocks>
  void multiply(const std::array<Source, sourcesAtOnce>& sources, const Share& lines, std::int64_t firstOut, std::int64_t matrices,
                bool adds) const {
    constexpr std::int64_t sumBytes = amxLanes * static_cast<std::int64_t>(sizeof(float));
    const auto sumAt = [&](std::int64_t source, std::int64_t block) {
      return sources[static_cast<std::size_t>(source)].matrices + block * matrices;
    };
    amx::forSums<Sources, Blocks>([&](auto sum, std::int64_t source, std::int64_t block) {
      if (adds)
        amx::load<decltype(sum)::value>(sumAt(source, block), sumBytes);
      else
        amx::zero<decltype(sum)::value>();
    });
    const Share steps = sources[0].steps;
    const std::int64_t blockElements = s_.height * s_.gradientRow, laneBytes = s_.lane * static_cast<std::int64_t>(sizeof(Bfloat16));
    for (std::int64_t line = lines.begin; line < lines.end; ++line) {
      const Bfloat16* gradient = packedGradient_ + (firstOut - outs_.begin) * blockElements + line * s_.gradientRow;
      const std::int64_t row = (line - lines.begin) * s_.axes.rows.stride * s_.row;
      for (std::int64_t step = steps.begin; step < steps.end; ++step) {
        const std::int64_t at = row + step * amxRow;
        const Bfloat16* columns = gradient + step * amxMatrix;
        amx::addProducts<Sources, Blocks>(sources[0].pixels + at, sources[Sources - 1].pixels + at, laneBytes, columns,
                                          columns + blockElements);
      }
    }
    amx::forSums<Sources, Blocks>(
        [&](auto sum, std::int64_t source, std::int64_t block) { amx::store<decltype(sum)::value>(sumAt(source, block), sumBytes); });
  }

  const Strips& s_;
};

}  // namespace

bool fitsAmxWeightGradient(KernelKind kind, const Convolution& c, int threads) {
  return kind == KernelKind::convolutionBackwardWeights && multipliesMatrices() && isInBlocksOf16(c) &&
         c.weightLayout == Layout::OIhw16i16o &&
         ceilDivide(c.inChannels, amxLanes) * ceilDivide(c.outChannels, amxLanes) * timesFaster >= threads;
}

std::size_t amxWeightGradientScratchBytes(const Convolution& c, int threads) { return Strips(c, threads).scratchBytes(); }

Launch compileAmxWeightGradient(const Convolution& c, int threads) { return launchGradientJobs<Job>(c, Strips(c, threads)); }

}  // namespace tilefold::cpu
