#include "../kernels/reduction.cuh"
#include "few_channels_windows.cuh"

namespace tilefold::cuda {
namespace {

// Each of 4 groups of a warp's threads has a quarter of the taps, each of the 8 threads of a group
// 8 output channels: a thread sums every pair of them over the pixels of the warp.
static_assert(tapGroups * channelThreads == warpThreads, "a warp has every pair");
// Pixels that a thread adds in float32, so that large images lose no digits.
constexpr std::int64_t longestSum = 4096;

// Blocks of a multiprocessor, by the registers of n taps a thread.
template <int n>
constexpr int gradientBlocks = n > 7 ? 3 : 4;

// Channels of 16 bytes; a thread has several such packs, each beside its neighbour's.
template <class T>
constexpr int channelsAtOnce = packBytes / sizeof(T);

// Where a warp keeps a pixel's four taps of a group, so that few loads read them; groups meet
// different banks.
constexpr int pitch = warpThreads + 1;
__device__ int placeOfTaps(int quad, int group) { return (quad * tapGroups + group) * pitch; }

// partials[block][channel and tap of a thread][thread of a warp]: a warp takes 32 pixels at a time,
// whose taps its threads put into shared memory, and goes through them one by one.
template <int n, class T>
__global__ void __launch_bounds__(productThreads, gradientBlocks<n>)
    sumTapProducts(const T* source, const T* gradient, float* partials, std::int32_t outChannels, TapWindows<n> windows) {
  constexpr int width = channelsAtOnce<T>, packs = channelsOfThread / width, ahead = width, quads = TapWindows<n>::quads;
  constexpr int sumsOfWarp = channelsOfThread * n * warpThreads;
  __shared__ float4 taken[productWarps][quads * tapGroups * pitch];
  static_assert(sizeof(taken) >= sumsOfWarp * sizeof(float), "the sums of a warp fit where the taps were");
  const int warp = static_cast<int>(threadIdx.x) / warpThreads, lane = static_cast<int>(threadIdx.x) % warpThreads;
  const float4* const own = taken[warp] + placeOfTaps(0, lane / channelThreads);
  // Channels that are not there are read as the first ones, and go nowhere.
  std::int32_t channels[packs];
  for (int k = 0; k < packs; ++k) {
    const auto channel = static_cast<std::int32_t>(blockIdx.y) * channelsOfWarp + (k * channelThreads + lane % channelThreads) * width;
    channels[k] = channel < outChannels ? channel : 0;
  }
  const std::int32_t pixelBytes = outChannels * static_cast<std::int32_t>(sizeof(T));
  float sums[channelsOfThread][n] = {};
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * productThreads;
  for (std::int64_t of = static_cast<std::int64_t>(blockIdx.x) * productThreads; of < windows.pixels; of += step) {
    const std::int64_t first = of + warp * warpThreads, behind = windows.pixels - 1 - first;
    __syncwarp();
    windows.gather(source, first + lane, [&](int group, int quad, const float4& four) { taken[warp][placeOfTaps(quad, group) + lane] = four; });
    __syncwarp();
    // Behind the last pixel, which may be before `first`, its gradient meets taps of 0.
    const int last = behind < warpThreads ? static_cast<int>(behind) : warpThreads - 1;
    const char* packsOfFirst[packs];
    for (int k = 0; k < packs; ++k) packsOfFirst[k] = reinterpret_cast<const char*>(gradient + first * outChannels + channels[k]);
#pragma unroll 1
    for (int pixel = 0; pixel < warpThreads; pixel += ahead) {
      Loaded<T, width> loaded[ahead][packs];
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        const std::int32_t bytes = (pixel + a < last ? pixel + a : last) * pixelBytes;
        for (int k = 0; k < packs; ++k) loaded[a][k] = Loaded<T, width>(reinterpret_cast<const T*>(packsOfFirst[k] + bytes));
      }
#pragma unroll
      for (int a = 0; a < ahead; ++a) {
        float4 taps[quads];
        for (int quad = 0; quad < quads; ++quad) taps[quad] = own[placeOfTaps(quad, 0) + pixel + a];
#pragma unroll
        for (int k = 0; k < packs; ++k) {
          const Pack<float, width> values = loaded[a][k].values();
          for (int c = 0; c < width; ++c)
            for (int t = 0; t < n; ++t) {
              const float4& four = taps[t / 4];
              const float tap = t % 4 == 0 ? four.x : t % 4 == 1 ? four.y : t % 4 == 2 ? four.z : four.w;
              sums[k * width + c][t] = fmaf(values[c], tap, sums[k * width + c][t]);
            }
        }
      }
    }
  }
  // Warp after warp.
  float* const added = &taken[0][0].x;
  for (int turn = 0; turn < productWarps; ++turn) {
    __syncthreads();
    if (turn != warp) continue;
    for (int i = 0; i < channelsOfThread * n; ++i) {
      float& sum = added[i * warpThreads + lane];
      sum = (turn == 0 ? 0.0F : sum) + sums[i / n][i % n];
    }
  }
  __syncthreads();
  float* const part = partials + (static_cast<std::int64_t>(blockIdx.x) * gridDim.y + blockIdx.y) * sumsOfWarp;
  for (int i = static_cast<int>(threadIdx.x); i < sumsOfWarp; i += productThreads) part[i] = added[i];
}

std::int64_t quotientOf(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

template <int n, class T>
class GradientProduct : public ConvolutionProduct {
 public:
  GradientProduct(const Convolution& c, const Context& context)
      : context_(context),
        windows_(windowsOf<n>(c)),
        outChannels_(c.outChannels),
        taps_(tapsOf(c)),
        columns_(quotientOf(c.outChannels, channelsOfWarp)) {
    const std::int64_t resident = std::max<std::int64_t>(1, gradientBlocks<n> * context.multiprocessors / columns_);
    const std::int64_t rounds = quotientOf(windows_.pixels, resident * productWarps * longestSum);
    parts_ = std::min(quotientOf(windows_.pixels, productThreads), resident * rounds);
  }

  const std::optional<PadBox>& copy() const override { return none_; }
  std::size_t workspaceBytes() const override { return static_cast<std::size_t>(parts_ * sums()) * sizeof(float); }
  bool writesFloat() const override { return true; }

  void launch(const ConvolutionTensors& tensors) override {
    auto* const partials = static_cast<float*>(tensors.workspace);
    launchGrid(context_.compute, "a gradient of weights over few channels", sumTapProducts<n, T>,
               dim3(static_cast<unsigned>(parts_), static_cast<unsigned>(columns_)), productThreads, static_cast<const T*>(tensors.source),
               static_cast<const T*>(tensors.destination), partials, static_cast<std::int32_t>(outChannels_), windows_);
    const std::int64_t outChannels = outChannels_, taps = taps_, apart = sums();
    auto* const weights = static_cast<float*>(tensors.weights);
    forEachSum<warpThreads>(
        context_, "summing a gradient of weights over few channels", apart, parts_,
        [=] __device__(std::int64_t sum) { return StridedTerms<float>{partials + sum, apart}; },
        [=] __device__(std::int64_t sum, double total) {
          constexpr std::int64_t width = channelsAtOnce<T>;
          const std::int64_t lane = sum % warpThreads, ofThread = sum / warpThreads, own = ofThread / n % channelsOfThread;
          const std::int64_t pack = own / width * channelThreads + lane % channelThreads;
          const std::int64_t channel = ofThread / n / channelsOfThread * channelsOfWarp + pack * width + own % width;
          const std::int64_t tap = lane / channelThreads * n + ofThread % n;
          if (channel < outChannels && tap < taps) weights[channel * taps + tap] = static_cast<float>(total);
        });
  }

 private:
  // Of one part.
  std::int64_t sums() const { return columns_ * channelsOfThread * n * warpThreads; }

  Context context_;
  TapWindows<n> windows_;
  std::int64_t outChannels_, taps_, columns_, parts_ = 0;
  std::optional<PadBox> none_;
};

}  // namespace

std::unique_ptr<ConvolutionProduct> makeFewChannelsGradient(const Convolution& c, const Context& context) {
  return makeForTaps<GradientProduct>(c, context);
}

}  // namespace tilefold::cuda
