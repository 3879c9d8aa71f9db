#include "convolution_strips.hpp"

#include <array>

#include "convolution_sides.hpp"
#include "lane_loops.hpp"
#include "parallel.hpp"
#include "strip_loops.hpp"
#include "vector_loops.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t matrixFloats = stripLanes * stripLanes;
// Read again for every row: they should stay in a core's cache.
constexpr std::int64_t weightFloats = 65536;

// Results begin .. end - 1 of every row are given by the same taps of the window's rows.
struct Span {
  std::int64_t begin, end;
  std::vector<std::int64_t> taps;
};

std::vector<Span> spansOf(const Sides& sides) {
  std::vector<TapRange> ranges;  // of results
  std::vector<std::int64_t> cuts;
  for (std::int64_t tap = 0; tap < sides.columns.kernel; ++tap) {
    TapRange range = sides.columns.range(tap);
    if (!sides.forward) range = {range.begin + range.shift, range.end + range.shift, range.shift};
    ranges.push_back(range);
    cuts.insert(cuts.end(), {range.begin, range.end});
  }
  std::sort(cuts.begin(), cuts.end());
  std::vector<Span> spans;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    Span span{cuts[i - 1], cuts[i], {}};
    for (std::size_t tap = 0; tap < ranges.size(); ++tap)
      if (ranges[tap].begin <= span.begin && span.end <= ranges[tap].end) span.taps.push_back(static_cast<std::int64_t>(tap));
    if (span.begin < span.end && !span.taps.empty()) spans.push_back(span);
  }
  return spans;
}

// Of the taps of one span, in the rows of the operand that a row of results sees.
struct TapOffsets {
  std::vector<std::int64_t> operand, matrix;
};

TapOffsets offsetsOf(const Sides& sides, const Span& span, std::int64_t resultRow) {
  TapOffsets offsets;
  for (std::int64_t row = 0; row < sides.rows.kernel; ++row) {
    const std::optional<std::int64_t> y = sides.operandRow(resultRow, row);
    if (!y) continue;
    for (const std::int64_t tap : span.taps) {
      const std::int64_t shift = sides.columns.range(tap).shift;
      const std::int64_t x = sides.forward ? span.begin * sides.columns.stride + shift : span.begin - shift;
      offsets.operand.push_back(*y * sides.operand.rowStride + x * sides.operand.pixelStride);
      offsets.matrix.push_back((row * sides.columns.kernel + tap) * matrixFloats);
    }
  }
  return offsets;
}

}  // namespace

Layout stripWeightLayout(KernelKind kind) { return kind == KernelKind::convolutionForward ? Layout::OIhw16i16o : Layout::IOhw16o16i; }

bool fitsStrips(KernelKind kind, const Convolution& c) {
  return kind != KernelKind::convolutionBackwardWeights && c.groups == 1 && c.sourceLayout == Layout::nChw16c &&
         c.destinationLayout == Layout::nChw16c && c.weightLayout == stripWeightLayout(kind) &&
         (kind == KernelKind::convolutionForward || c.strideWidth == 1);
}

Launch compileStripConvolution(KernelKind kind, const Convolution& c, int threads) {
  const bool forward = kind == KernelKind::convolutionForward;
  const Sides sides = sidesOf(c, forward);
  const std::vector<Span> spans = spansOf(sides);
  const std::int64_t taps = c.kernelHeight * c.kernelWidth, height = sides.resultHeight(), width = sides.resultWidth();
  const std::int64_t resultBlocks = sides.result.blocks(), operandBlocks = sides.operand.blocks();
  const std::int64_t chunks = (resultBlocks + maxStripBlocks - 1) / maxStripBlocks;
  const std::int64_t operandsAtOnce = std::max<std::int64_t>(1, weightFloats / (taps * maxStripBlocks * matrixFloats));
  // A band of rows a thread, so that as few as possible read all the weights; where rows are few,
  // each takes a part of the chunks.
  const std::int64_t bands = std::min<std::int64_t>(threads, height);
  const std::int64_t parts = std::clamp<std::int64_t>(threads / (c.batch * bands), 1, chunks);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const float* operand = elements<const float>(operands, 0);
    const float* weights = elements<const float>(operands, 1);
    const float* bias = forward ? elements<const float>(operands, 2) : nullptr;
    float* result = elements(operands, forward ? 3 : 2);
    parallelFor(c.batch * parts * bands, [&](std::int64_t job) {
      const std::int64_t image = job / bands / parts;
      const Share rows = shareOf(height, job % bands, bands), part = shareOf(chunks, job / bands % parts, parts);
      float* plane = result + image * sides.result.batchStride;
      for (std::int64_t b = part.begin * maxStripBlocks; b < std::min(part.end * maxStripBlocks, resultBlocks); ++b) {
        std::array<float, stripLanes> lanes{};
        if (bias != nullptr) std::copy_n(bias + b * stripLanes, sides.result.lanes(b), lanes.begin());
        fillPixels(lanes.data(), plane + b * sides.result.blockStride + rows.begin * sides.result.rowStride,
                   (rows.end - rows.begin) * width, stripLanes);
      }
      for (std::int64_t first = 0; first < operandBlocks; first += operandsAtOnce)
        for (std::int64_t chunk = part.begin; chunk < part.end; ++chunk)
          for (std::int64_t y = rows.begin; y < rows.end; ++y)
            for (const Span& span : spans) {
              const TapOffsets offsets = offsetsOf(sides, span, y);
              const std::int64_t firstResult = chunk * maxStripBlocks;
              addStrips({operand + image * sides.operand.batchStride + first * sides.operand.blockStride, sides.operand.blockStride,
                         (forward ? sides.columns.stride : 1) * sides.operand.pixelStride,
                         weights + (firstResult * operandBlocks + first) * taps * matrixFloats, taps * matrixFloats,
                         operandBlocks * taps * matrixFloats, offsets.operand.data(), offsets.matrix.data(),
                         static_cast<std::int64_t>(offsets.matrix.size()), std::min(operandsAtOnce, operandBlocks - first),
                         plane + firstResult * sides.result.blockStride + y * sides.result.rowStride + span.begin * stripLanes,
                         sides.result.blockStride, std::min(maxStripBlocks, resultBlocks - firstResult), span.end - span.begin});
            }
      if (c.slope == 1) return;
      for (std::int64_t b = part.begin * maxStripBlocks; b < std::min(part.end * maxStripBlocks, resultBlocks); ++b) {
        float* band = plane + b * sides.result.blockStride + rows.begin * sides.result.rowStride;
        rectify(band, band, (rows.end - rows.begin) * sides.result.rowStride, static_cast<float>(c.slope));
      }
    });
  };
}

}  // namespace tilefold::cpu
