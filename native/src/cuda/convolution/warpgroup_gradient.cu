#include "warpgroup_gradient.hpp"

#include <string>

#include "../kernels/element_loop.cuh"
#include "warpgroup_gradient.cuh"
#include "warpgroup_loader.cuh"

namespace tilefold::cuda {
namespace {

// One warpgroup loads, each of the others multiplies for one tap of a row.
constexpr int gradientThreads = (1 + gradientTaps) * warpgroupThreads;
constexpr int loadingRegisters = 80, multiplyingRegisters = 144;
static_assert(loadingRegisters + gradientTaps * multiplyingRegisters <= 65536 / warpgroupThreads, "a multiprocessor has the registers");
// The stages that a warpgroup is in: of a row and of those before that its taps need.
class HeldStages {
 public:
  __device__ HeldStages(const Stages& stages, std::int32_t count) : stages_(stages), count_(count) {}

  // The stage of the step `before` this one.
  __device__ int of(int before) const { return last_[before]; }

  // Waits for the next stage, and sees what was written there.
  __device__ void enter() {
#pragma unroll
    for (int k = gradientTaps - 1; k > 0; --k) last_[k] = last_[k - 1];
    last_[0] = next_.stage;
    stages_.filled[next_.stage].wait(next_.parity);
    seeWritten();
    next_.advance(count_);
    ++held_;
  }
  // Of others than the last so many nothing is read any more.
  __device__ void keep(int last) {
#pragma unroll 1
    for (; held_ > last; --held_) {
      if (threadIdx.x % warpThreads == 0) stages_.emptied[first_.stage].arrive();
      first_.advance(count_);
    }
  }

 private:
  const Stages& stages_;
  std::int32_t count_;
  Turn first_, next_;
  int held_ = 0, last_[gradientTaps] = {};
};

// Tensor cores round their sums towards zero: those of so many rows are added to memory.
constexpr int mostRowsSummed = 256;

template <class T>
__device__ void multiplyRows(const GradientRows& rows, const Stages& stages, float* weights, int tap) {
  const int thread = static_cast<int>(threadIdx.x) % warpgroupThreads, warp = thread / warpThreads, lane = thread % warpThreads;
  const std::int64_t channelStride = std::int64_t{gradientTaps} * gradientTaps * rows.inChannels;
  float* const part =
      weights + (blockIdx.z * rows.outChannels + lane % 4 * 2) * channelStride + tap * rows.inChannels + warp * 16 + lane / 4;
  ProductSums sums[gradientTaps] = {};
  const auto store = [&](bool adds) {
    float* channel = computedHere(part);
#pragma unroll
    for (int i = 0; i < productColumns / 4; ++i) {
#pragma unroll
      for (int of = 0; of < gradientTaps; ++of)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float& to = channel[of * gradientTaps * rows.inChannels + half * 8];
          float& sum = sums[of][i / 2 * 4 + half * 2 + i % 2];
          to = adds ? to + sum : sum;
          sum = 0;
        }
      channel += i % 2 == 0 ? channelStride : 7 * channelStride;
    }
  };
  LeftSide left[productsOfTile];
  HeldStages held(stages, rows.stages);
  bool adds = false;
  int summed = 0;
  for (RowSteps at(rows, blockIdx.z, gridDim.z); at.going();) {
    const int count = at.rowsOfColumn(), column = at.piece() * pixelsAtOnce<T> + tap * rows.dilationWidth - rows.padLeft;
    const bool meets = column < rows.width && column + pixelsAtOnce<T> > 0;
    for (; !at.multiplies(); at.advance()) held.enter();
    for (int row = 0; !meets && row < count; ++row, at.advance()) {
      held.keep(0);
      held.enter();
    }
    for (int row = 0; meets && row < count;) {
      const int behind = count - row, until = row + (behind < mostRowsSummed - summed ? behind : mostRowsSummed - summed);
      summed += until - row;
      for (; row < until; ++row, at.advance()) {
        held.enter();
        const T* const window = stages.source<T>(held.of(0)) + tap * rows.windowsApart * sourcePitch + warp * 16;
        RightSide right[gradientTaps];
#pragma unroll
        for (int of = 0; of < gradientTaps; ++of) right[of] = rightSide(stages.gradient(held.of(of)));
        // One half of a row's products runs while the other's left side is loaded.
        constexpr int half = productsOfTile / 2;
#pragma unroll
        for (int first = 0; first < productsOfTile; first += half) {
          awaitProducts<1>();
          // All of the row before have ended.
          if (first == half) held.keep(gradientTaps);
#pragma unroll
          for (int k = first; k < first + half; ++k) loadLeftSide(left[k], window + k * productDepth<T> * sourcePitch, sourcePitch);
          beginProducts();
#pragma unroll
          for (int of = 0; of < gradientTaps; ++of)
#pragma unroll
            for (int k = first; k < first + half; ++k) addProduct<T>(sums[of], left[k], right[of], k);
          closeProducts();
        }
      }
      awaitProducts<0>();
      held.keep(gradientTaps - 1);
      if (summed < mostRowsSummed) continue;
      store(adds);
      adds = true;
      summed = 0;
    }
    held.keep(0);
  }
  if (summed > 0 || !adds) store(adds);
}

// weights[part of the rows][output channel][row of the taps][column][channel]: a block has 64
// channels of both sides and all taps.
template <class T>
__global__ void __launch_bounds__(gradientThreads, 1) sumRowProducts(const T* source, const T* gradient, float* weights, GradientRows rows) {
  __shared__ StageBarrier filled[mostStages], emptied[mostStages];
  const Stages stages{dynamicShared(), filled, emptied, rows.stageBytes};
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < mostStages) {
    filled[thread].initialise(warpgroupThreads);
    emptied[thread].initialise(gradientTaps * warpgroupThreads / warpThreads);
  }
  __syncthreads();
  source += blockIdx.x * blockChannels;
  gradient += blockIdx.y * blockChannels;
  const int group = warpgroup();
  if (group == 0) {
    leaveRegisters<loadingRegisters>();
    loadRows(rows, stages, source, gradient, thread);
  } else {
    takeRegisters<multiplyingRegisters>();
    weights += (static_cast<std::int64_t>(blockIdx.y) * blockChannels * gradientTaps * gradientTaps) * rows.inChannels + blockIdx.x * blockChannels;
    multiplyRows<T>(rows, stages, weights, group - 1);
  }
}

// Of the 227 KiB that a block may have what is left beside its barriers.
constexpr std::int32_t mostStageBytes = 226 * 1024;
// Rows that products hold and those that are on their way, of windows that do not overlap: a row of
// pixelsAtOnce elements has tileRowBytes.
constexpr std::int32_t widestStage = tileBytes + gradientTaps * tileRowBytes * sourcePitch;
static_assert(mostStageBytes / widestStage >= gradientTaps + stepsAhead + 1, "loads do not wait for the products that wait for them");

template <class T>
GradientRows rowsOf(const Convolution& c) {
  const auto narrow = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
  const auto quotient = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  GradientRows rows{};
  rows.height = narrow(c.inHeight), rows.width = narrow(c.inWidth);
  rows.outHeight = narrow(c.outHeight), rows.outWidth = narrow(c.outWidth);
  rows.inChannels = narrow(c.inChannels), rows.outChannels = narrow(c.outChannels);
  rows.dilationHeight = narrow(c.dilationHeight), rows.dilationWidth = narrow(c.dilationWidth);
  rows.padTop = narrow(c.padTop), rows.padLeft = narrow(c.padLeft);
  rows.pieces = narrow(quotient(c.outWidth, pixelsAtOnce<T>));
  rows.rowsOfColumn = narrow(quotient(c.inHeight, c.dilationHeight));
  const bool overlap = c.dilationWidth <= pixelsAtOnce<T>;
  rows.windowsApart = overlap ? rows.dilationWidth : pixelsAtOnce<T>;
  rows.spans = overlap ? 1 : gradientTaps;
  rows.spanPixels = pixelsAtOnce<T> + (overlap ? (gradientTaps - 1) * rows.windowsApart : 0);
  const std::int64_t sourceBytes = std::int64_t{rows.spans} * rows.spanPixels * sourcePitch * static_cast<std::int64_t>(sizeof(T));
  rows.stageBytes = narrow(quotient(tileBytes + sourceBytes, tileAlignment) * tileAlignment);
  rows.stages = std::min(mostStages, mostStageBytes / rows.stageBytes);
  rows.steps = c.batch * rows.pieces * c.dilationHeight * rows.rowsOfColumn;
  return rows;
}

// In how many parts rows are cut so that the blocks of each fill the multiprocessors, one a
// multiprocessor: in up to three rounds, where one more leaves clearly fewer of them idle.
std::int64_t partsOf(std::int64_t blocks, std::int64_t multiprocessors) {
  std::int64_t best = 1;
  double busiest = 0;
  for (std::int64_t rounds = 1; rounds <= 3; ++rounds) {
    const std::int64_t parts = std::max<std::int64_t>(1, rounds * multiprocessors / blocks), all = parts * blocks;
    const double busy = static_cast<double>(all) / static_cast<double>((all + multiprocessors - 1) / multiprocessors * multiprocessors);
    if (busy < busiest + 0.05) continue;
    busiest = busy;
    best = parts;
  }
  return best;
}

std::int64_t blocksOf(const Convolution& c) { return c.inChannels / blockChannels * (c.outChannels / blockChannels); }

template <class T>
class WarpgroupGradient : public ConvolutionProduct {
 public:
  WarpgroupGradient(const Convolution& c, const Context& context)
      : context_(context), rows_(rowsOf<T>(c)), weights_(c.outChannels * gradientTaps * gradientTaps * c.inChannels) {
    if (c.algorithm == warpgroupAlgorithm) parts_ = std::min(rows_.steps, partsOf(blocksOf(c), context.multiprocessors));
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(sumRowProducts<T>), cudaFuncAttributeMaxDynamicSharedMemorySize, mostStageBytes),
          "taking shared memory for gradients of weights");
  }

  const std::optional<PadBox>& copy() const override { return none_; }
  std::size_t workspaceBytes() const override { return parts_ == 1 ? 0 : static_cast<std::size_t>(parts_ * weights_) * sizeof(float); }
  bool writesFloat() const override { return true; }

  void launch(const ConvolutionTensors& tensors) override {
    auto* const weights = static_cast<float*>(tensors.weights);
    float* const sums = parts_ == 1 ? weights : static_cast<float*>(tensors.workspace);
    const dim3 blocks(static_cast<unsigned>(rows_.inChannels / blockChannels), static_cast<unsigned>(rows_.outChannels / blockChannels),
                      static_cast<unsigned>(parts_));
    launchSharing(context_.compute, "a gradient of weights by warpgroups", sumRowProducts<T>, blocks, gradientThreads,
                  static_cast<std::size_t>(rows_.stages * rows_.stageBytes), static_cast<const T*>(tensors.source),
                  static_cast<const T*>(tensors.destination), sums, rows_);
    if (parts_ == 1) return;
    const std::int64_t count = weights_, parts = parts_;
    constexpr std::int64_t width = packBytes / sizeof(float);
    forEach(context_, "adding parts of a gradient of weights", count / width, [=] __device__(std::int64_t pack) {
      float4 sum = reinterpret_cast<const float4*>(sums)[pack];
#pragma unroll 4
      for (std::int64_t k = 1; k < parts; ++k) {
        const float4 part = reinterpret_cast<const float4*>(sums + k * count)[pack];
        sum = {sum.x + part.x, sum.y + part.y, sum.z + part.z, sum.w + part.w};
      }
      reinterpret_cast<float4*>(weights)[pack] = sum;
    });
  }

 private:
  Context context_;
  GradientRows rows_;
  std::int64_t weights_, parts_ = 1;
  std::optional<PadBox> none_;
};

#ifdef TILEFOLD_WITHOUT_WARPGROUPS
constexpr bool isBuilt = false;
#else
constexpr bool isBuilt = true;
#endif

}  // namespace

bool fitsWarpgroups(KernelKind kind, const Convolution& c, const Context& context) {
  const bool isRight = kind == KernelKind::convolutionBackwardWeights && c.groups == 1 && c.kernelHeight == gradientTaps &&
                       c.kernelWidth == gradientTaps && c.strideHeight == 1 && c.strideWidth == 1;
  const bool isInPacks = c.sourceLayout == Layout::nhwc && c.destinationLayout == Layout::nhwc && c.inChannels % blockChannels == 0 &&
                         c.outChannels % blockChannels == 0;
  // Blocks of one dimension, and extents with their padding.
  constexpr std::int64_t mostChannels = std::int64_t{1} << 20, mostExtent = std::int64_t{1} << 26;
  const bool isShort = std::max(c.inChannels, c.outChannels) <= mostChannels &&
                       std::max({c.inHeight + c.padTop + c.padBottom, c.inWidth + c.padLeft + c.padRight, c.dilationHeight, c.dilationWidth}) <= mostExtent;
  if (!isBuilt || !usesTensorCores(context) || context.computeCapability != 9 || !isRight || !isInPacks || !isShort) return false;
  // Rows far apart and much padding.
  return (context.precision == Precision::bf16 ? rowsOf<Bfloat16>(c) : rowsOf<float>(c)).steps < std::int64_t{1} << 31;
}

bool fillsWarpgroups(const Convolution& c, const Context& context) {
  const std::int64_t atOnce = context.precision == Precision::bf16 ? pixelsAtOnce<Bfloat16> : pixelsAtOnce<float>;
  return 4 * c.outWidth >= 3 * ((c.outWidth + atOnce - 1) / atOnce * atOnce);
}

bool fillsUnshared(const Convolution& c, const Context& context) {
  constexpr double least = 0.45;
  return static_cast<double>(blocksOf(c)) >= least * context.multiprocessors;
}

std::unique_ptr<ConvolutionProduct> makeWarpgroupGradient(KernelKind kind, const Convolution& c, const Context& context) {
  if (!fitsWarpgroups(kind, c, context))
    throw Failure("algorithm " + std::to_string(c.algorithm) +
                  " of the cuda device is for gradients of weights of 3 x 3 convolutions of stride 1 and one group in tf32 or bf16, in nhwc of "
                  "multiples of 64 channels, on GPUs of compute capability 9.0, in a build with code for 90a");
  if (context.precision == Precision::bf16) return std::make_unique<WarpgroupGradient<Bfloat16>>(c, context);
  return std::make_unique<WarpgroupGradient<float>>(c, context);
}

}  // namespace tilefold::cuda
