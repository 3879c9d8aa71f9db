#include "blocks.hpp"

#include <array>
#include <cstring>

#include "../operands/convolution_sides.hpp"
#include "../processor/parallel.hpp"
#include "../vectors/lane_loops.hpp"
#include "../vectors/vector_loops.hpp"
#include "matrix_loops.hpp"

namespace tilefold::cpu {
namespace {

ChannelPairs pairsOf(const Convolution& c, bool forward) {
  return forward ? ChannelPairs(c.outChannels, c.inChannels, c.groups, blockOf(c))
                 : ChannelPairs(c.inChannels, c.outChannels, c.groups, blockOf(c));
}

// Lanes to read of an operand block: the padding of a blocked one is zero and keeps the fast path,
// a plain one has none.
std::int64_t lanesToRead(const ActivationStrides& operand, std::int64_t block) {
  return operand.blocked() ? operand.block : operand.lanes(block);
}

// matrices[pair][tap][operand lane][result lane]
template <class T>
void packMatrices(const T* weights, const WeightStrides& strides, const ChannelPairs& pairs, std::int64_t taps, bool forward,
                  float* matrices) {
  const std::int64_t block = pairs.block(), area = block * block;
  parallelFor(pairs.resultBlocks(), [&](std::int64_t result) {
    const ChannelRun& run = pairs[result];
    for (std::int64_t n = 0; n < run.operands; ++n) {
      float* matrix = matrices + (run.matrix + n) * taps * area;
      std::memset(matrix, 0, static_cast<std::size_t>(taps * area) * sizeof(float));
      pairs.forShared(result, run.firstOperand + n, strides, forward, [&](std::size_t q, std::size_t r, std::int64_t weight) {
        float* lane = matrix + static_cast<std::int64_t>(q) * block + static_cast<std::int64_t>(r);
        for (std::int64_t tap = 0; tap < taps; ++tap) lane[tap * area] = static_cast<float>(weights[weight + tap * strides.tapStride]);
      });
    }
  });
}

template <class T>
void storeRow(const float* row, std::int64_t width, std::int64_t lanes, const ActivationStrides& to, T* destination) {
  if (to.blocked()) {
    convert(row, destination, width * to.block);
    return;
  }
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    for (std::int64_t x = 0; x < width; ++x) destination[lane * to.laneStride + x * to.pixelStride] = T(row[x * to.block + lane]);
}

// Pixels of one block of channels in float: where they are, or a copy that begins at `memory`, of
// whole blocks with zeros for lanes that are none.
struct FloatPixels {
  const float* first;
  std::int64_t pixelStride, laneStride, lanes;
};
FloatPixels inFloat(const ActivationStrides& from, std::int64_t index, const float* row, std::int64_t, std::int64_t step, float*) {
  return {row, step * from.pixelStride, from.laneStride, lanesToRead(from, index)};
}
FloatPixels inFloat(const ActivationStrides& from, std::int64_t index, const Bfloat16* row, std::int64_t count, std::int64_t step,
                    float* memory) {
  if (from.blocked() && step == 1) {
    convert(row, memory, count * from.block);
  } else {
    const std::int64_t lanes = lanesToRead(from, index);
    for (std::int64_t p = 0; p < count; ++p) {
      const Bfloat16* pixel = row + p * step * from.pixelStride;
      float* to = memory + p * from.block;
      for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = pixel[lane * from.laneStride];
      std::fill(to + lanes, to + from.block, 0.0F);
    }
  }
  return {memory, from.block, 1, from.block};
}

// A row of results, and what its operands are in float.
template <class T>
std::int64_t rowFloats(const Sides& sides) {
  const std::int64_t copied = std::is_same_v<T, float> ? 0 : sides.operandWidth();
  return checkedMultiply(checkedAdd(sides.resultWidth(), copied), sides.result.block);
}

// One tap of one operand row into one result row.
void multiplyTap(const Sides& sides, const FloatPixels& operand, std::int64_t tap, const float* matrix, float* result) {
  const TapRange range = sides.columns.range(tap);
  if (range.begin >= range.end) return;
  const std::int64_t input = range.begin * sides.columns.stride + range.shift, block = sides.result.block;
  const std::int64_t operandPixel = sides.forward ? input : range.begin, operandStep = sides.forward ? sides.columns.stride : 1;
  const std::int64_t resultPixel = sides.forward ? range.begin : input, resultStep = sides.forward ? 1 : sides.columns.stride;
  multiplyRow({operand.first + operandPixel * operand.pixelStride, operandStep * operand.pixelStride, operand.laneStride, operand.lanes,
               range.end - range.begin},
              matrix, result + resultPixel * block, resultStep * block, block);
}

template <class T>
Launch compileCorrelation(const Convolution& c, bool forward, int threads) {
  const Sides sides = sidesOf(c, forward);
  const ChannelPairs pairs = pairsOf(c, forward);
  const WeightStrides weights = weightStrides(c);
  const std::int64_t taps = c.kernelHeight * c.kernelWidth, block = pairs.block();
  const std::int64_t resultElements = sides.resultWidth() * block;
  const std::int64_t rowElements = rowFloats<T>(sides);  // what a thread works in
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const T* operand = elements<const T>(operands, 0);
    const float* bias = forward ? elements<const float>(operands, 2) : nullptr;
    T* result = elements<T>(operands, forward ? 3 : 2);
    float* scratch = elements(operands, forward ? 4 : 3);
    float* matrices = scratch + threads * rowElements;
    packMatrices(elements<const T>(operands, 1), weights, pairs, taps, forward, matrices);
    parallelFor(c.batch * pairs.resultBlocks() * sides.resultHeight(), [&](std::int64_t index) {
      const std::int64_t y = index % sides.resultHeight(), r = index / sides.resultHeight() % pairs.resultBlocks();
      const std::int64_t image = index / sides.resultHeight() / pairs.resultBlocks();
      float* row = scratch + omp_get_thread_num() * rowElements;
      std::array<float, 16> start{};
      if (bias != nullptr) std::copy(bias + r * block, bias + r * block + sides.result.lanes(r), start.begin());
      fillPixels(start.data(), row, sides.resultWidth(), block);
      for (std::int64_t n = 0; n < pairs[r].operands; ++n) {
        const std::int64_t q = pairs[r].firstOperand + n;
        for (std::int64_t ky = 0; ky < c.kernelHeight; ++ky) {
          const std::optional<std::int64_t> operandY = sides.operandRow(y, ky);
          if (!operandY) continue;
          const T* operandRow =
              operand + image * sides.operand.batchStride + q * sides.operand.blockStride + *operandY * sides.operand.rowStride;
          const FloatPixels pixels = inFloat(sides.operand, q, operandRow, sides.operandWidth(), 1, row + resultElements);
          for (std::int64_t kx = 0; kx < c.kernelWidth; ++kx)
            multiplyTap(sides, pixels, kx, matrices + ((pairs[r].matrix + n) * taps + ky * c.kernelWidth + kx) * block * block, row);
        }
      }
      if (c.slope != 1) rectify(row, row, resultElements, static_cast<float>(c.slope));
      storeRow(row, sides.resultWidth(), sides.result.lanes(r), sides.result,
               result + image * sides.result.batchStride + r * sides.result.blockStride + y * sides.result.rowStride);
    });
  };
}

template <class T>
void sumBias(const Convolution& c, const ActivationStrides& destination, const T* gradient, float* biasGradient) {
  parallelFor(destination.blocks(), [&](std::int64_t block) {
    std::array<double, 16> sums{};
    for (std::int64_t image = 0; image < c.batch; ++image)
      addPixels(gradient + image * destination.batchStride + block * destination.blockStride, sums.data(), c.outHeight * c.outWidth,
                destination.block);
    for (std::int64_t lane = 0; lane < destination.lanes(block); ++lane)
      biasGradient[block * destination.block + lane] = static_cast<float>(sums[static_cast<std::size_t>(lane)]);
  });
}

// One tap's matrix between two blocks of channels.
struct PairTap {
  std::int64_t result, operand, tap;
};

// Matrices that are summed side by side, so that they share the pixels that they read; more would
// not stay in the innermost cache.
constexpr std::int64_t maxSums = 9;
constexpr std::int64_t longest = 256;  // pixels in one float sum

// Neighbours share a block of either side, or both: squares of pairs, each with all its taps.
std::vector<PairTap> sumsInOrder(const ChannelPairs& pairs, std::int64_t taps) {
  std::int64_t side = 1;
  while ((side + 1) * (side + 1) * taps <= maxSums) ++side;
  std::int64_t maxOperands = 0;
  for (std::int64_t r = 0; r < pairs.resultBlocks(); ++r) maxOperands = std::max(maxOperands, pairs[r].operands);
  std::vector<PairTap> sums;
  sums.reserve(static_cast<std::size_t>(pairs.matrices() * taps));
  for (std::int64_t firstResult = 0; firstResult < pairs.resultBlocks(); firstResult += side)
    for (std::int64_t first = 0; first < maxOperands; first += side)
      for (std::int64_t r = firstResult; r < std::min(firstResult + side, pairs.resultBlocks()); ++r)
        for (std::int64_t n = first; n < std::min(first + side, pairs[r].operands); ++n)
          for (std::int64_t tap = 0; tap < taps; ++tap) sums.push_back({r, pairs[r].firstOperand + n, tap});
  return sums;
}

template <class T>
Launch compileWeightGradient(const Convolution& c, int threads) {
  const ActivationStrides source = sourceOf(c), destination = destinationOf(c);
  const ChannelPairs pairs = pairsOf(c, true);
  const WeightStrides weights = weightStrides(c);
  const WindowAxis rows = rowsOf(c), columns = columnsOf(c);
  const std::int64_t block = pairs.block(), area = block * block;
  const std::vector<PairTap> sums = sumsInOrder(pairs, c.kernelHeight * c.kernelWidth);
  const auto count = static_cast<std::int64_t>(sums.size());
  // Several runs a thread even out; how sums are shared among them changes no bit.
  const std::int64_t atOnce = std::clamp<std::int64_t>(count / (4 * threads), 1, maxSums);
  const std::int64_t rowsAtOnce = std::max<std::int64_t>(1, longest / c.outWidth);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const T* input = elements<const T>(operands, 0);
    const T* gradient = elements<const T>(operands, 1);
    float* weightGradient = elements(operands, 2);
    std::memset(weightGradient, 0, static_cast<std::size_t>(weights.elements) * sizeof(float));
    // Of the pixels [top, top + rowsAtOnce) x [left, left + longest), those that the tap gives.
    const auto addPart = [&](const PairTap& sum, std::int64_t image, std::int64_t top, std::int64_t left, double* matrix) {
      const TapRange ys = rows.range(sum.tap / c.kernelWidth), xs = columns.range(sum.tap % c.kernelWidth);
      const std::int64_t y = std::max(top, ys.begin), x = std::max(left, xs.begin);
      const std::int64_t height = std::min(top + rowsAtOnce, ys.end) - y, width = std::min(left + longest, xs.end) - x;
      if (height <= 0 || width <= 0) return;
      const T* first = input + image * source.batchStride + sum.operand * source.blockStride + (y * rows.stride + ys.shift) * source.rowStride +
                       (x * columns.stride + xs.shift) * source.pixelStride;
      const T* received = gradient + image * destination.batchStride + sum.result * destination.blockStride + y * destination.rowStride + x * block;
      if constexpr (std::is_same_v<T, float>) {
        multiplyGradient({first, rows.stride * source.rowStride, columns.stride * source.pixelStride, source.laneStride,
                          lanesToRead(source, sum.operand), received, destination.rowStride, height, width},
                         matrix, block);
      } else {
        std::array<float, longest * 16> operandRow, gradientRow;
        for (std::int64_t i = 0; i < height; ++i) {
          inFloat(source, sum.operand, first + i * rows.stride * source.rowStride, width, columns.stride, operandRow.data());
          convert(received + i * destination.rowStride, gradientRow.data(), width * block);
          multiplyGradient({operandRow.data(), 0, block, 1, block, gradientRow.data(), 0, 1, width}, matrix, block);
        }
      }
    };
    parallelRanges(count, atOnce, [&](std::int64_t begin, std::int64_t end) {
      std::array<double, maxSums * 16 * 16> matrices;
      std::fill_n(matrices.begin(), (end - begin) * area, 0.0);
      for (std::int64_t image = 0; image < c.batch; ++image)
        for (std::int64_t top = 0; top < c.outHeight; top += rowsAtOnce)
          for (std::int64_t left = 0; left < c.outWidth; left += longest)
            for (std::int64_t i = begin; i < end; ++i)
              addPart(sums[static_cast<std::size_t>(i)], image, top, left, matrices.data() + (i - begin) * area);
      for (std::int64_t i = begin; i < end; ++i) {
        const auto [result, operand, tap] = sums[static_cast<std::size_t>(i)];
        const double* matrix = matrices.data() + (i - begin) * area;
        pairs.forShared(result, operand, weights, true, [&, at = tap](std::size_t lane, std::size_t resultLane, std::int64_t weight) {
          weightGradient[weight + at * weights.tapStride] = static_cast<float>(matrix[lane * static_cast<std::size_t>(block) + resultLane]);
        });
      }
    });
    if (float* biasGradient = elements(operands, 3)) sumBias(c, destination, gradient, biasGradient);
  };
}

}  // namespace

template <class T>
std::size_t blockConvolutionScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  if (kind == KernelKind::convolutionBackwardWeights) return 0;
  const bool forward = kind == KernelKind::convolutionForward;
  const ChannelPairs pairs = pairsOf(c, forward);
  const std::int64_t block = pairs.block();
  const std::int64_t matrices = checkedMultiply(checkedMultiply(pairs.matrices(), c.kernelHeight * c.kernelWidth), block * block);
  return static_cast<std::size_t>(checkedMultiply(checkedAdd(matrices, checkedMultiply(threads, rowFloats<T>(sidesOf(c, forward)))), sizeof(float)));
}

template <class T>
Launch compileBlockConvolution(KernelKind kind, const Convolution& c, int threads) {
  if (kind == KernelKind::convolutionBackwardWeights) return compileWeightGradient<T>(c, threads);
  return compileCorrelation<T>(c, kind == KernelKind::convolutionForward, threads);
}

template std::size_t blockConvolutionScratchBytes<float>(KernelKind, const Convolution&, int);
template std::size_t blockConvolutionScratchBytes<Bfloat16>(KernelKind, const Convolution&, int);
template Launch compileBlockConvolution<float>(KernelKind, const Convolution&, int);
template Launch compileBlockConvolution<Bfloat16>(KernelKind, const Convolution&, int);

}  // namespace tilefold::cpu
