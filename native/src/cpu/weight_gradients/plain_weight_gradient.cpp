#include "plain_weight_gradient.hpp"

#include <cstring>

#include "../operands/convolution_sides.hpp"
#include "../pointwise/bias.hpp"
#include "../processor/parallel.hpp"
#include "tap_loops.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t longest = 256;  // pixels whose sum is added in double
constexpr std::int64_t maxJobs = 8;    // side by side, so that they share the pixels that they read
constexpr std::int64_t maxFloats = maxTapSums * 16;

// One block of results, with `rows` rows of the window, counted over all channels, and `taps` of
// each.
struct Job {
  std::int64_t result, firstRow, rows, firstTap, taps;
};

// How a convolution's sums are cut into jobs.
struct Jobs {
  std::vector<Job> all;
  std::int64_t rowsAtOnce;
};

Jobs jobsOf(const Convolution& c, std::int64_t block, int threads) {
  const std::int64_t results = roundUp(c.outChannels, block) / block, rows = c.inChannels * c.kernelHeight;
  const std::int64_t pieces = (c.kernelWidth + maxTaps - 1) / maxTaps, mostTaps = (c.kernelWidth + pieces - 1) / pieces;
  // Fewer where threads would be left without any.
  const std::int64_t shared = results * rows * pieces / threads;
  Jobs jobs{{}, tapRowsAtOnce(mostTaps, std::min(rows, shared), block)};
  for (std::int64_t result = 0; result < results; ++result)
    for (std::int64_t row = 0; row < rows; row += jobs.rowsAtOnce)
      for (std::int64_t piece = 0; piece < pieces; ++piece) {
        const Share taps = shareOf(c.kernelWidth, piece, pieces);
        jobs.all.push_back({result, row, std::min(jobs.rowsAtOnce, rows - row), taps.begin, taps.end - taps.begin});
      }
  return jobs;
}

}  // namespace

bool fitsPlainWeightGradient(KernelKind kind, const Convolution& c) {
  return kind == KernelKind::convolutionBackwardWeights && c.sourceLayout == Layout::plain && c.destinationLayout != Layout::plain &&
         c.groups == 1 && (c.dilationWidth == 1 || c.kernelWidth == 1);
}

Launch compilePlainWeightGradient(const Convolution& c, int threads) {
  const ActivationStrides destination = destinationOf(c);
  const WeightStrides weights = weightStrides(c);
  const WindowAxis rows = rowsOf(c), columns = columnsOf(c);
  const std::int64_t block = blockOf(c), plane = c.inHeight * c.inWidth;
  const Jobs jobs = jobsOf(c, block, threads);
  const auto count = static_cast<std::int64_t>(jobs.all.size());
  const std::int64_t jobsAtOnce = std::clamp<std::int64_t>(count / (4 * threads), 1, maxJobs);
  const std::int64_t height = std::max<std::int64_t>(1, longest / c.outWidth);
  const Launch biasGradient = sumBiasOf<float>(c);
  return [=](const std::vector<Operand>& operands, const StepParameters& step) {
    const float* source = elements<const float>(operands, 0);
    const float* gradient = elements<const float>(operands, 1);
    float* weightGradient = elements(operands, 2);
    std::memset(weightGradient, 0, static_cast<std::size_t>(weights.elements) * sizeof(float));
    // Of the pixels [top, top + height) x [left, left + longest).
    const auto addPart = [&](const Job& job, std::int64_t image, std::int64_t top, std::int64_t left, double* totals) {
      std::array<float, maxFloats> sums;
      std::array<float, maxTaps * 16> discarded{};  // of rows that lie outside, or are none
      const std::int64_t floats = job.taps * block;
      std::fill_n(sums.begin(), job.rows * floats, 0.0F);
      TapRows row{jobs.rowsAtOnce, job.taps, {}, {}, columns.stride, job.firstTap - columns.padBefore, columns.in, nullptr, left,
                  std::min(left + longest, c.outWidth)};
      for (std::int64_t y = top; y < std::min(top + height, c.outHeight); ++y) {
        bool any = false;
        for (std::int64_t i = 0; i < jobs.rowsAtOnce; ++i) {
          const std::int64_t windowRow = job.firstRow + i;
          const auto inputRow = i < job.rows ? rows.input(y, windowRow % c.kernelHeight) : std::nullopt;
          const std::int64_t channel = image * c.inChannels + (inputRow ? windowRow / c.kernelHeight : 0);
          row.sources[static_cast<std::size_t>(i)] = source + channel * plane + inputRow.value_or(0) * c.inWidth;
          row.sums[static_cast<std::size_t>(i)] = inputRow ? sums.data() + i * floats : discarded.data();
          any = any || inputRow;
        }
        row.gradient = gradient + image * destination.batchStride + job.result * destination.blockStride + y * destination.rowStride;
        if (any) addTaps(row, block);
      }
      addToDoubles(sums.data(), totals, job.rows * floats);
    };
    const auto write = [&](const Job& job, const double* totals) {
      std::array<std::int64_t, 16> outs{};
      const std::int64_t lanes = destination.lanes(job.result);
      for (std::int64_t lane = 0; lane < lanes; ++lane) outs[static_cast<std::size_t>(lane)] = weights.out(job.result * block + lane);
      for (std::int64_t row = job.firstRow; row < job.firstRow + job.rows; ++row)
        for (std::int64_t tap = job.firstTap; tap < job.firstTap + job.taps; ++tap, totals += block) {
          float* first = weightGradient + weights.in(row / c.kernelHeight) + (row % c.kernelHeight * c.kernelWidth + tap) * weights.tapStride;
          for (std::int64_t lane = 0; lane < lanes; ++lane) first[outs[static_cast<std::size_t>(lane)]] = static_cast<float>(totals[lane]);
        }
    };
    parallelRanges(count, jobsAtOnce, [&](std::int64_t begin, std::int64_t end) {
      std::array<double, maxJobs * maxFloats> totals;
      std::fill_n(totals.begin(), (end - begin) * maxFloats, 0.0);
      const auto forJobs = [&](const auto& body) {
        for (std::int64_t i = begin; i < end; ++i) body(jobs.all[static_cast<std::size_t>(i)], totals.data() + (i - begin) * maxFloats);
      };
      for (std::int64_t image = 0; image < c.batch; ++image)
        for (std::int64_t top = 0; top < c.outHeight; top += height)
          for (std::int64_t left = 0; left < c.outWidth; left += longest)
            forJobs([&](const Job& job, double* sums) { addPart(job, image, top, left, sums); });
      forJobs(write);
    });
    if (operands[3].address != nullptr) biasGradient({operands[1], operands[3]}, step);
  };
}

}  // namespace tilefold::cpu
