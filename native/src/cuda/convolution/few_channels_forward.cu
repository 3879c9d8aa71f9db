#include "../../kernels/rectifier.hpp"
#include "../kernels/element_loop.cuh"
#include "few_channels_windows.cuh"

namespace tilefold::cuda {
namespace {

// Each of 8 threads has 8 output channels, each of 4 such groups 8 of a warp's 32 pixels: a thread
// has every pair of them.
constexpr int pixelsOfThread = 8, forwardBlocks = 4;  // of a multiprocessor
static_assert(pixelsOfThread * warpThreads / channelThreads == warpThreads, "a warp has every pair");

// Of a thread's channel i: with its neighbours' it fills lines of the output, by stores of 16
// bytes.
template <class T>
__device__ int channelOf(int thread, int i) {
  constexpr int width = packBytes / sizeof(T);
  return (i / width * channelThreads + thread) * width + i % width;
}
// Where its weight lies in shared memory: threads read fours from different banks.
__device__ int placeOfWeight(int thread, int i) { return i / 4 * channelThreads * 4 + thread * 4 + i % 4; }

// A block takes 128 pixels at a time, a warp 32 of them, whose taps its threads put into shared
// memory beside all weights of 64 channels.
template <int n, class T>
__global__ void __launch_bounds__(productThreads, forwardBlocks)
    convolve(const T* source, const T* weights, const float* bias, T* destination, std::int64_t outChannels, std::int32_t taps, float slope,
             TapWindows<n> windows) {
  constexpr int count = tapGroups * n, width = packBytes / sizeof(T);
  __shared__ float ofWeights[count][channelsOfWarp];
  __shared__ float ofPixels[productWarps][count][warpThreads];
  const std::int64_t firstChannel = static_cast<std::int64_t>(blockIdx.y) * channelsOfWarp;
  for (int i = static_cast<int>(threadIdx.x); i < count * channelsOfWarp; i += productThreads) {
    const int tap = i / channelsOfWarp, thread = i % channelsOfWarp / channelsOfThread, own = i % channelsOfThread;
    const std::int64_t channel = firstChannel + channelOf<T>(thread, own);
    const bool has = tap < taps && channel < outChannels;
    ofWeights[tap][placeOfWeight(thread, own)] = has ? static_cast<float>(weights[channel * taps + tap]) : 0.0F;
  }
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / warpThreads, lane = static_cast<int>(threadIdx.x) % warpThreads;
  const int thread = lane % channelThreads, firstPixel = lane / channelThreads * pixelsOfThread;
  float biases[channelsOfThread] = {};
  for (int i = 0; i < channelsOfThread; ++i) {
    const std::int64_t channel = firstChannel + channelOf<T>(thread, i);
    if (bias != nullptr && channel < outChannels) biases[i] = bias[channel];
  }
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * productThreads;
  for (std::int64_t of = static_cast<std::int64_t>(blockIdx.x) * productThreads; of < windows.pixels; of += step) {
    const std::int64_t first = of + warp * warpThreads;
    __syncwarp();
    windows.gather(source, first + lane, [&](int group, int quad, const float4& four) {
      const float values[4] = {four.x, four.y, four.z, four.w};
      for (int i = 0; i < 4 && 4 * quad + i < n; ++i) ofPixels[warp][group * n + 4 * quad + i][lane] = values[i];
    });
    __syncwarp();
    float sums[pixelsOfThread][channelsOfThread] = {};
#pragma unroll 2
    for (int tap = 0; tap < count; ++tap) {
      float pixels[pixelsOfThread], own[channelsOfThread];
      for (int i = 0; i < 2; ++i) {
        memcpy(pixels + 4 * i, &ofPixels[warp][tap][firstPixel + 4 * i], sizeof(float4));
        memcpy(own + 4 * i, &ofWeights[tap][placeOfWeight(thread, 4 * i)], sizeof(float4));
      }
#pragma unroll
      for (int p = 0; p < pixelsOfThread; ++p)
        for (int i = 0; i < channelsOfThread; ++i) sums[p][i] = fmaf(pixels[p], own[i], sums[p][i]);
    }
#pragma unroll
    for (int p = 0; p < pixelsOfThread; ++p) {
      const std::int64_t pixel = first + firstPixel + p;
      if (pixel >= windows.pixels) break;
#pragma unroll
      for (int i = 0; i < channelsOfThread; i += width) {
        const std::int64_t channel = firstChannel + channelOf<T>(thread, i);
        Pack<float, width> values;
        for (int k = 0; k < width; ++k) values[k] = rectified(sums[p][i + k] + biases[i + k], slope);
        if (channel < outChannels) values.store(destination + pixel * outChannels + channel);
      }
    }
  }
}

template <int n, class T>
class ForwardProduct : public ConvolutionProduct {
 public:
  ForwardProduct(const Convolution& c, const Context& context) : c_(c), context_(context), windows_(windowsOf<n>(c)) {}

  const std::optional<PadBox>& copy() const override { return none_; }
  std::size_t workspaceBytes() const override { return 0; }
  bool finishes() const override { return true; }

  void launch(const ConvolutionTensors& tensors) override {
    const std::int64_t columns = (c_.outChannels + channelsOfWarp - 1) / channelsOfWarp;
    const std::int64_t rounds = (windows_.pixels + productThreads - 1) / productThreads;
    const std::int64_t resident = std::max<std::int64_t>(1, forwardBlocks * context_.multiprocessors / columns);
    launchGrid(context_.compute, "a convolution over few channels", convolve<n, T>,
               dim3(static_cast<unsigned>(std::min(rounds, resident)), static_cast<unsigned>(columns)), productThreads,
               static_cast<const T*>(tensors.source), static_cast<const T*>(tensors.weights), tensors.bias,
               static_cast<T*>(tensors.destination), c_.outChannels, static_cast<std::int32_t>(tapsOf(c_)), static_cast<float>(c_.slope),
               windows_);
  }

 private:
  Convolution c_;
  Context context_;
  TapWindows<n> windows_;
  std::optional<PadBox> none_;
};

}  // namespace

std::unique_ptr<ConvolutionProduct> makeFewChannelsForward(const Convolution& c, const Context& context) {
  return makeForTaps<ForwardProduct>(c, context);
}

}  // namespace tilefold::cuda
