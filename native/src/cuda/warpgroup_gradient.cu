#include "warpgroup_gradient.hpp"

#include <string>

#include "element_loop.cuh"
#include "warpgroup_gradient.cuh"

namespace tilefold::cuda {
namespace {

// One warpgroup loads, each of the others multiplies for one tap of a row.
constexpr int gradientThreads = (1 + gradientTaps) * warpgroupThreads;
constexpr int loadingRegisters = 80, multiplyingRegisters = 144;
static_assert(loadingRegisters + gradientTaps * multiplyingRegisters <= 65536 / warpgroupThreads, "a multiprocessor has the registers");
// A step's loads begin so many steps before they are awaited.
constexpr int stepsAhead = 2;
constexpr int mostStages = 8;

// A stage holds a row of the source and one of the gradient, which the next two rows need too.
struct Stages {
  std::byte* memory;
  StageBarrier *filled, *emptied;
  std::int32_t bytes;

  __device__ std::byte* gradient(int stage) const { return memory + stage * bytes; }
  template <class T>
  __device__ T* source(int stage) const {
    return reinterpret_cast<T*>(gradient(stage) + tileBytes);
  }
};

// Goes through the stages again and again; `parity` is of how often.
struct Turn {
  int stage = 0;
  unsigned parity = 0;

  __device__ void advance(int stages) {
    if (++stage < stages) return;
    stage = 0;
    parity ^= 1;
  }
};

// A thread's part of a row of the gradient on its way: of float32 four pixels of four channels.
template <class T>
struct Coming {};
template <>
struct Coming<float> {
  float4 pixels[4];
};

// Of one thread: the rows of each step, from memory that it goes through column by column.
template <class T>
class RowLoader {
 public:
  __device__ RowLoader(const GradientRows& rows, const T* source, const T* gradient, int thread)
      : rows_(rows),
        ofSource_(source),
        ofGradient_(gradient),
        thread_(thread),
        sourceStep_(static_cast<std::int64_t>(rows.dilationHeight) * rows.width * rows.inChannels),
        gradientStep_(static_cast<std::int64_t>(rows.dilationHeight) * rows.outWidth * rows.outChannels) {}

  // The next step.
  __device__ void go(const RowSteps& at) {
    if (!at.beginsColumn()) {
      source_ += sourceStep_;
      gradient_ += gradientStep_;
      return;
    }
    const std::int64_t image = at.image(), piece = at.piece() * pixelsAtOnce<T>;
    column_ = static_cast<int>(piece) - rows_.padLeft + thread_ / packs;
    source_ = ofSource_ + ((image * rows_.height + at.row()) * rows_.width + column_) * rows_.inChannels + thread_ % packs * elements;
    present_ = rows_.outWidth - static_cast<int>(piece) - gradientPixel();
    gradient_ = ofGradient_ + ((image * rows_.outHeight + at.gradientRow(0)) * rows_.outWidth + piece + gradientPixel()) * rows_.outChannels +
                gradientChannel();
  }

  __device__ void loadSource(const RowSteps& at, T* to) const {
    constexpr int pixels = warpgroupThreads / packs;
    const bool hasRow = at.row() < rows_.height;
    const int first = thread_ / packs;
    for (int span = 0; span < rows_.spans; ++span) {
      int column = column_ + span * rows_.dilationWidth;
      const T* from = source_ + static_cast<std::int64_t>(span) * rows_.dilationWidth * rows_.inChannels;
      T* place = to + (span * rows_.windowsApart + first) * sourcePitch + thread_ % packs * elements;
#pragma unroll 1
      for (int pixel = first; pixel < rows_.spanPixels; pixel += pixels) {
        copyPack(place, from, hasRow && static_cast<std::uint32_t>(column) < static_cast<std::uint32_t>(rows_.width));
        column += pixels;
        from += pixels * rows_.inChannels;
        place += pixels * sourcePitch;
      }
    }
  }

  // A tile of bf16 has a pixel's channels in each row, as memory has, one of float32 a channel's
  // pixels: a thread turns four by four of them.
  __device__ void loadGradient(const RowSteps& at, std::byte* tile, Coming<T>& coming) const {
    const int present = at.hasGradientRow(0) ? present_ : 0;
    if constexpr (turns) {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        coming.pixels[k] = k < present ? *reinterpret_cast<const float4*>(gradient_ + k * rows_.outChannels) : float4{0, 0, 0, 0};
    } else {
      constexpr int pixels = warpgroupThreads / packs;
      const T* from = gradient_;
#pragma unroll
      for (int pixel = 0; pixel < pixelsAtOnce<T>; pixel += pixels, from += pixels * rows_.outChannels)
        copyPack(tile + placeInTile(pixel + thread_ / packs, thread_ % packs), from, pixel < present);
    }
  }
  __device__ void storeGradient(std::byte* tile, const Coming<T>& coming) const {
    if constexpr (turns) {
      const float4* const p = coming.pixels;
      const auto store = [&](int channel, float a, float b, float c, float d) {
        std::byte* const to = tile + placeInTile(gradientChannel() + channel, gradientPixel() / 4);
        *reinterpret_cast<uint4*>(to) = {tf32Bits(a), tf32Bits(b), tf32Bits(c), tf32Bits(d)};
      };
      store(0, p[0].x, p[1].x, p[2].x, p[3].x);
      store(1, p[0].y, p[1].y, p[2].y, p[3].y);
      store(2, p[0].z, p[1].z, p[2].z, p[3].z);
      store(3, p[0].w, p[1].w, p[2].w, p[3].w);
    }
  }

 private:
  // Packs of 16 bytes of a pixel's channels.
  static constexpr int elements = 16 / sizeof(T), packs = blockChannels / elements;
  static constexpr bool turns = std::is_same_v<T, float>;
  __device__ int gradientPixel() const { return turns ? thread_ % 8 * 4 : thread_ / packs; }
  __device__ int gradientChannel() const { return turns ? thread_ / 8 * 4 : thread_ % packs * elements; }

  const GradientRows& rows_;
  const T *ofSource_, *ofGradient_;
  int thread_;
  std::int64_t sourceStep_, gradientStep_;
  // Of the step, where this thread begins; rows that are not there are not read.
  const T *source_ = nullptr, *gradient_ = nullptr;
  int column_ = 0, present_ = 0;
};

template <class T>
__device__ void loadRows(const GradientRows& rows, const Stages& stages, const T* source, const T* gradient, int thread) {
  RowSteps at(rows, blockIdx.z, gridDim.z);
  RowLoader<T> loader(rows, source, gradient, thread);
  Turn begun, ended;
  // In registers until they have arrived.
  Coming<T> coming[stepsAhead + 1];
  const auto begin = [&](Coming<T>& own) {
    if (at.going()) {
      // The first time they are empty.
      stages.emptied[begun.stage].wait(begun.parity ^ 1);
      loader.go(at);
      if (at.multiplies()) loader.loadSource(at, stages.source<T>(begun.stage));
      loader.loadGradient(at, stages.gradient(begun.stage), own);
      at.advance();
      begun.advance(rows.stages);
    }
    closeCopies();
  };
  for (int k = 0; k < stepsAhead; ++k) begin(coming[k]);
  for (bool going = true; going;) {
#pragma unroll
    for (int k = 0; k <= stepsAhead; ++k) {
      begin(coming[(k + stepsAhead) % (stepsAhead + 1)]);
      going = ended.stage != begun.stage;
      if (!going) break;
      awaitCopies<stepsAhead>();
      loader.storeGradient(stages.gradient(ended.stage), coming[k]);
      stages.filled[ended.stage].arrive();
      ended.advance(rows.stages);
    }
  }
}

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
constexpr int rowsAtOnce = 256;

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
      const int behind = count - row, until = row + (behind < rowsAtOnce - summed ? behind : rowsAtOnce - summed);
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
      if (summed < rowsAtOnce) continue;
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
