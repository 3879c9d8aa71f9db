#include "depthwise_weight_gradient.hpp"

#include <cstring>

#include "../operands/convolution_sides.hpp"
#include "../pointwise/bias.hpp"
#include "../processor/parallel.hpp"
#include "../vectors/vector_loops.hpp"
#include "depthwise_loops.hpp"
#include "tap_loops.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t longest = 128;  // pixels whose sum is added in double

// Blocks of channels, and parts of the rows of all images where those are few. Nothing of it
// depends on the number of threads.
struct DepthwiseSums {
  std::int64_t block, blocks, height, bands, parts;
  std::int64_t count;     // of a part: [tap][lane]
  std::int64_t atOnce;    // pixels of a row
  std::int64_t readable;  // pixels of the source that those read

  explicit DepthwiseSums(const Convolution& c)
      : block(blockOf(c)),
        blocks(ceilDivide(c.inChannels, block)),
        height(std::clamp<std::int64_t>(longest / c.outWidth, 1, c.outHeight)),
        bands(ceilDivide(c.outHeight, height)),
        parts(partsOfSums(blocks, c.batch * bands)),
        count(checkedMultiply(checkedMultiply(c.kernelHeight, c.kernelWidth), block)),
        atOnce(std::min(longest, c.outWidth)),
        readable(std::min(c.inWidth, (atOnce - 1) * c.strideWidth + (c.kernelWidth - 1) * c.dilationWidth + 1)) {}
  std::int64_t tasks() const { return blocks * parts; }
  // Totals of all parts, or of one a thread where none is cut; then what each thread has in float.
  std::int64_t totals(int threads) const { return checkedMultiply(parts == 1 ? threads : tasks(), count); }
  // Sums, and, of what is not float, the pixels that are read.
  template <class T>
  std::int64_t floats() const {
    const std::int64_t read = checkedAdd(atOnce, checkedMultiply(maxDepthwiseRows, readable));
    return std::is_same_v<T, float> ? count : checkedAdd(count, checkedMultiply(read, block));
  }
};

// Pixels in float: where they are, or converted into `memory`.
const float* inFloat(const float* pixels, std::int64_t, float*) { return pixels; }
const float* inFloat(const Bfloat16* pixels, std::int64_t elements, float* memory) {
  convert(pixels, memory, elements);
  return memory;
}

}  // namespace

bool fitsDepthwiseWeightGradient(KernelKind kind, const Convolution& c) {
  return kind == KernelKind::convolutionBackwardWeights && c.groups > 1 && c.groups == c.inChannels && c.groups == c.outChannels &&
         c.sourceLayout != Layout::plain && c.destinationLayout != Layout::plain;
}

template <class T>
std::size_t depthwiseWeightGradientScratchBytes(const Convolution& c, int threads) {
  const DepthwiseSums s(c);
  return static_cast<std::size_t>(
      checkedAdd(checkedMultiply(s.totals(threads), sizeof(double)), checkedMultiply(checkedMultiply(threads, s.floats<T>()), sizeof(float))));
}

template <class T>
Launch compileDepthwiseWeightGradient(const Convolution& c, int threads) {
  const DepthwiseSums s(c);
  const ActivationStrides from = sourceOf(c), by = destinationOf(c);
  const WeightStrides weights = weightStrides(c);
  const WindowAxis rows = rowsOf(c), columns = columnsOf(c);
  const Launch biasGradient = sumBiasOf<T>(c);
  return [=](const std::vector<Operand>& operands, const StepParameters& step) {
    const T *source = elements<const T>(operands, 0), *gradient = elements<const T>(operands, 1);
    float* weightGradient = elements(operands, 2);
    double* scratch = elements<double>(operands, 4);
    float* floats = reinterpret_cast<float*>(scratch + s.totals(threads));
    std::memset(weightGradient, 0, static_cast<std::size_t>(weights.elements) * sizeof(float));
    const auto addBand = [&](std::int64_t index, std::int64_t image, std::int64_t top, double* totals) {
      float* sums = floats + omp_get_thread_num() * s.floats<T>();
      float *gradientPixels = sums + s.count, *sourcePixels = gradientPixels + s.atOnce * s.block;
      for (std::int64_t left = 0; left < columns.out; left += s.atOnce) {
        const std::int64_t pixels = std::min(s.atOnce, columns.out - left), begin = left * columns.stride - columns.padBefore;
        // What the pixels read of a row of the source.
        const std::int64_t first = std::clamp<std::int64_t>(begin, 0, columns.in);
        const std::int64_t end = begin + (pixels - 1) * columns.stride + (columns.kernel - 1) * columns.dilation + 1;
        DepthwiseRows at{0, {}, nullptr, columns.kernel, columns.stride, columns.dilation, begin - first,
                         std::clamp(end, first, columns.in) - first, pixels};
        std::fill_n(sums, s.count, 0.0F);
        for (std::int64_t y = top; y < std::min(top + s.height, rows.out); ++y) {
          const T* gradientRow = gradient + image * by.batchStride + index * by.blockStride + y * by.rowStride;
          at.gradient = inFloat(gradientRow + left * s.block, pixels * s.block, gradientPixels);
          // Rows of the window that lie in the image follow each other.
          std::int64_t ky = 0;
          while (ky < rows.kernel && !rows.input(y, ky)) ++ky;
          for (; ky < rows.kernel && rows.input(y, ky); ky += at.rows) {
            for (at.rows = 0; at.rows < maxDepthwiseRows && ky + at.rows < rows.kernel; ++at.rows) {
              const std::optional<std::int64_t> input = rows.input(y, ky + at.rows);
              if (!input) break;
              const T* sourceRow = source + image * from.batchStride + index * from.blockStride + *input * from.rowStride;
              at.sources[static_cast<std::size_t>(at.rows)] =
                  inFloat(sourceRow + first * s.block, at.width * s.block, sourcePixels + at.rows * s.readable * s.block);
            }
            addDepthwise(at, s.block, sums + ky * columns.kernel * s.block);
          }
        }
        addToDoubles(sums, totals, s.count);
      }
    };
    // Sums the totals of all parts of a block, the first of which is given.
    const auto store = [&](std::int64_t index, const double* totals) {
      for (std::int64_t tap = 0; tap < rows.kernel * columns.kernel; ++tap)
        for (std::int64_t lane = 0; lane < from.lanes(index); ++lane) {
          double sum = 0;
          for (std::int64_t part = 0; part < s.parts; ++part) sum += totals[part * s.count + tap * s.block + lane];
          weightGradient[weights.group(index * s.block + lane) + tap * weights.tapStride] = static_cast<float>(sum);
        }
    };
    parallelFor(s.tasks(), [&](std::int64_t task) {
      const std::int64_t index = task / s.parts;
      double* totals = scratch + (s.parts == 1 ? omp_get_thread_num() : task) * s.count;
      std::fill_n(totals, s.count, 0.0);
      const Share share = shareOf(c.batch * s.bands, task % s.parts, s.parts);
      for (std::int64_t band = share.begin; band < share.end; ++band) addBand(index, band / s.bands, band % s.bands * s.height, totals);
      if (s.parts == 1) store(index, totals);
    });
    if (s.parts > 1) parallelFor(s.blocks, [&](std::int64_t index) { store(index, scratch + index * s.parts * s.count); });
    if (operands[3].address != nullptr) biasGradient({operands[1], operands[3]}, step);
  };
}

template std::size_t depthwiseWeightGradientScratchBytes<float>(const Convolution&, int);
template std::size_t depthwiseWeightGradientScratchBytes<Bfloat16>(const Convolution&, int);
template Launch compileDepthwiseWeightGradient<float>(const Convolution&, int);
template Launch compileDepthwiseWeightGradient<Bfloat16>(const Convolution&, int);

}  // namespace tilefold::cpu
