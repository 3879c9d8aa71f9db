#include "strips.hpp"

#include <array>

#include "../operands/convolution_sides.hpp"
#include "../processor/parallel.hpp"
#include "../processor/processor.hpp"
#include "../vectors/lane_loops.hpp"
#include "../vectors/vector_loops.hpp"
#include "strip_loops.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t matrixElements = stripLanes * stripLanes;

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
      offsets.matrix.push_back((row * sides.columns.kernel + tap) * matrixElements);
    }
  }
  return offsets;
}

// How results are shared: threads take bands of rows, each all blocks of channels or, where rows
// are few, a part of them. The sums of a band in a chunk of blocks should stay in a core's cache.
struct Bands {
  std::int64_t height, width, blocks, chunks, images, count, parts;
  std::int64_t operandsAtOnce;  // blocks whose weights for a chunk stay in a core's cache
  std::int64_t chunksAtOnce;    // which read the same blocks of the operand in turn

  Bands(const Convolution& c, const Sides& sides, int threads)
      : height(sides.resultHeight()),
        width(sides.resultWidth()),
        blocks(sides.result.blocks()),
        chunks(ceilDivide(blocks, maxStripBlocks)),
        images(c.batch),
        count(std::min(height, std::max<std::int64_t>(threads, ceilDivide(height, std::max<std::int64_t>(1, sumFloats / rowFloats()))))),
        parts(std::clamp<std::int64_t>(threads / (images * count), 1, chunks)),
        operandsAtOnce(std::max<std::int64_t>(1, weightsAtOnce / (c.kernelHeight * c.kernelWidth * maxStripBlocks * matrixElements))),
        chunksAtOnce(operandsAtOnce < sides.operand.blocks() ? std::min(ceilDivide(chunks, parts), manyChunks) : 1) {}
  std::int64_t rowFloats() const { return checkedMultiply(maxStripBlocks * stripLanes, width); }
  // Of the sums that a thread holds.
  std::int64_t floats() const { return checkedMultiply(checkedMultiply(ceilDivide(height, count), rowFloats()), chunksAtOnce); }
  std::int64_t jobs() const { return images * count * parts; }

 private:
  static constexpr std::int64_t sumFloats = 65536, weightsAtOnce = 65536, manyChunks = 4;
};

template <class T>
constexpr bool isFloat = std::is_same_v<T, float>;

}  // namespace

// Those that oneDNN reads too.
template <class T>
Layout stripWeightLayout(KernelKind kind) {
  const bool forward = kind == KernelKind::convolutionForward;
  if (isFloat<T>) return forward ? Layout::OIhw16i16o : Layout::IOhw16o16i;
  return forward ? Layout::OIhw8i16o2i : Layout::OIhw8o16i2o;
}

template <class T>
bool fitsStrips(KernelKind kind, const Convolution& c) {
  return kind != KernelKind::convolutionBackwardWeights && (isFloat<T> || multipliesPairs()) && isInBlocksOf16(c) &&
         c.weightLayout == stripWeightLayout<T>(kind) && (kind == KernelKind::convolutionForward || c.strideWidth == 1);
}

template <class T>
std::size_t stripConvolutionScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  if (isFloat<T>) return 0;
  const Bands bands(c, sidesOf(c, kind == KernelKind::convolutionForward), threads);
  return static_cast<std::size_t>(checkedMultiply(checkedMultiply(threads, bands.floats()), sizeof(float)));
}

template <class T>
Launch compileStripConvolution(KernelKind kind, const Convolution& c, int threads) {
  const bool forward = kind == KernelKind::convolutionForward;
  const Sides sides = sidesOf(c, forward);
  const std::vector<Span> spans = spansOf(sides);
  const Bands bands(c, sides, threads);
  const std::int64_t taps = c.kernelHeight * c.kernelWidth, operandBlocks = sides.operand.blocks();
  const std::int64_t operandsAtOnce = bands.operandsAtOnce;
  // OIhw8o16i2o lists the operand's blocks first, all others the result's.
  const bool operandFirst = stripWeightLayout<T>(kind) == Layout::OIhw8o16i2o;
  const std::int64_t operandMatrices = taps * matrixElements * (operandFirst ? bands.blocks : 1);
  const std::int64_t resultMatrices = taps * matrixElements * (operandFirst ? 1 : operandBlocks);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const T* operand = elements<const T>(operands, 0);
    const T* weights = elements<const T>(operands, 1);
    const float* bias = forward ? elements<const float>(operands, 2) : nullptr;
    T* result = elements<T>(operands, forward ? 3 : 2);
    float* scratch = elements(operands, forward ? 4 : 3);
    parallelFor(bands.jobs(), [&](std::int64_t job) {
      const std::int64_t image = job / bands.count / bands.parts;
      const Share rows = shareOf(bands.height, job % bands.count, bands.count);
      const Share part = shareOf(bands.chunks, job / bands.count % bands.parts, bands.parts);
      const std::int64_t pixels = (rows.end - rows.begin) * bands.width;
      std::vector<TapOffsets> offsetsInBand;
      for (std::int64_t y = rows.begin; y < rows.end; ++y)
        for (const Span& span : spans) offsetsInBand.push_back(offsetsOf(sides, span, y));
      for (std::int64_t firstChunk = part.begin; firstChunk < part.end; firstChunk += bands.chunksAtOnce) {
        const std::int64_t firstBlock = firstChunk * maxStripBlocks;
        const std::int64_t blocks = std::min(std::min(firstChunk + bands.chunksAtOnce, part.end) * maxStripBlocks, bands.blocks) - firstBlock;
        T* band = result + image * sides.result.batchStride + firstBlock * sides.result.blockStride + rows.begin * sides.result.rowStride;
        float* sums;
        std::int64_t sumBlockStride;
        if constexpr (isFloat<T>) {
          sums = band;
          sumBlockStride = sides.result.blockStride;
        } else {
          sums = scratch + omp_get_thread_num() * bands.floats();
          sumBlockStride = pixels * stripLanes;
        }
        for (std::int64_t b = 0; b < blocks; ++b) {
          std::array<float, stripLanes> lanes{};
          if (bias != nullptr) std::copy_n(bias + (firstBlock + b) * stripLanes, sides.result.lanes(firstBlock + b), lanes.begin());
          fillPixels(lanes.data(), sums + b * sumBlockStride, pixels, stripLanes);
        }
        for (std::int64_t first = 0; first < operandBlocks; first += operandsAtOnce)
          for (std::int64_t b = 0; b < blocks; b += maxStripBlocks)
            for (std::int64_t y = rows.begin; y < rows.end; ++y)
              for (std::size_t i = 0; i < spans.size(); ++i) {
                const Span& span = spans[i];
                const TapOffsets& offsets = offsetsInBand[static_cast<std::size_t>(y - rows.begin) * spans.size() + i];
                addStrips(Strips<T>{operand + image * sides.operand.batchStride + first * sides.operand.blockStride, sides.operand.blockStride,
                                    (forward ? sides.columns.stride : 1) * sides.operand.pixelStride,
                                    weights + (firstBlock + b) * resultMatrices + first * operandMatrices, operandMatrices, resultMatrices,
                                    offsets.operand.data(), offsets.matrix.data(), static_cast<std::int64_t>(offsets.matrix.size()),
                                    std::min(operandsAtOnce, operandBlocks - first),
                                    sums + b * sumBlockStride + ((y - rows.begin) * bands.width + span.begin) * stripLanes, sumBlockStride,
                                    std::min(maxStripBlocks, blocks - b), span.end - span.begin});
              }
        for (std::int64_t b = 0; b < blocks; ++b) {
          float* summed = sums + b * sumBlockStride;
          if (c.slope != 1) rectify(summed, summed, pixels * stripLanes, static_cast<float>(c.slope));
          if constexpr (!isFloat<T>) convert(summed, band + b * sides.result.blockStride, pixels * stripLanes);
        }
      }
    });
  };
}

#define TILEFOLD_INSTANTIATE(T)                                                                     \
  template Layout stripWeightLayout<T>(KernelKind);                                                 \
  template bool fitsStrips<T>(KernelKind, const Convolution&);                                      \
  template std::size_t stripConvolutionScratchBytes<T>(KernelKind, const Convolution&, int);        \
  template Launch compileStripConvolution<T>(KernelKind, const Convolution&, int);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
