// Softmax cross entropy of every pixel's scores, and their classes; plain or nhwc. Semantics:
// reference/pixel_loss.cpp. Exponentials are of float32, their sums and the losses in double. A
// label that is none is recorded in context.fault, and the loss stays as it was.
#include "compiled.hpp"
#include "families.hpp"
#include "pixels.cuh"
#include "reduction.cuh"
#include "warp.cuh"

namespace tilefold::cuda {
namespace {

// A pixel is the work of `lanes` threads: of one where the scores of a class lie side by side, of
// more where those of a pixel do.
constexpr std::int64_t fewClasses = 6, maxOfEight = 64;

// The largest score so far and the first class that has it; a first score that is no number stays,
// later ones never become it.
struct Largest {
  float score;
  std::int64_t place;

  __device__ bool offer(float other, std::int64_t at) {
    if (!(other > score || (other == score && at < place))) return false;
    score = other;
    place = at;
    return true;
  }
};

// exp(score - largest) summed in one go over the scores (Milakov, Gimelshein 2018).
struct PixelSoftmax {
  Largest largest;
  double sum;

  __device__ void add(float score, std::int64_t at) {
    const float before = largest.score;
    const double ratio = score == before ? 1 : static_cast<double>(expf(-fabsf(score - before)));
    sum = largest.offer(score, at) && score != before ? sum * ratio + 1 : sum + ratio;
  }
  __device__ void add(const PixelSoftmax& other) {
    const float before = largest.score, score = other.largest.score;
    const double ratio = score == before ? 1 : static_cast<double>(expf(-fabsf(score - before)));
    sum = score > before ? sum * ratio + other.sum : sum + other.sum * ratio;
    largest.offer(score, other.largest.place);
  }
};

// Of `classes` scores, or of none; all threads of the block take part.
template <int lanes, class T>
__device__ PixelSoftmax softmaxOf(const T* scores, std::int64_t stride, std::int64_t classes) {
  const std::int64_t lane = threadIdx.x % lanes;
  PixelSoftmax softmax{{scores[0], 0}, 0};
#pragma unroll 4
  for (std::int64_t k = lane; k < classes; k += lanes) softmax.add(scores[k * stride], k);
  for (int mask = lanes / 2; mask > 0; mask /= 2)
    softmax.add(PixelSoftmax{{shuffleXor(softmax.largest.score, mask), shuffleXor(softmax.largest.place, mask)}, shuffleXor(softmax.sum, mask)});
  return softmax;
}

template <int lanes, class T>
__global__ void __launch_bounds__(sumThreads)
    sumLosses(Pixels pixels, Labels labels, const T* source, const double* normaliser, double* loss, Partials* partials) {
  __shared__ double shared[sumThreads];
  __shared__ bool last;
  constexpr int perBlock = sumThreads / lanes;
  double losses = 0, right = 0;
  for (std::int64_t first = std::int64_t{blockIdx.x} * perBlock; first < pixels.count(); first += std::int64_t{gridDim.x} * perBlock) {
    const std::int64_t pixel = first + threadIdx.x / lanes;
    const Pixels::Offsets at = pixels(pixel < pixels.count() ? pixel : 0);
    const std::int32_t label = pixel < pixels.count() ? labels.at(at.classes) : uncounted;
    const T* const scores = source + at.scores;
    const PixelSoftmax softmax = softmaxOf<lanes>(scores, pixels.channelStride(), label == uncounted ? 0 : pixels.channels());
    if (label == uncounted || threadIdx.x % lanes != 0) continue;
    const double largest = static_cast<double>(softmax.largest.score), score = static_cast<double>(scores[label * pixels.channelStride()]);
    losses += labels.weight(label) * (log(softmax.sum) + largest - score);
    right += softmax.largest.place == label && largest == largest ? 1 : 0;
  }
  losses = sumOfRows<1>(losses, shared);
  right = sumOfRows<1>(right, shared);
  volatile double* sums = partials->sums;
  if (threadIdx.x == 0) {
    sums[2 * blockIdx.x] = losses;
    sums[2 * blockIdx.x + 1] = right;
    __threadfence();
    last = atomicAdd(&partials->arrived[0], 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  losses = right = 0;
  for (unsigned block = threadIdx.x; block < gridDim.x; block += sumThreads) {
    losses += sums[2 * block];
    right += sums[2 * block + 1];
  }
  losses = sumOfRows<1>(losses, shared);
  right = sumOfRows<1>(right, shared);
  if (threadIdx.x != 0) return;
  partials->arrived[0] = 0;
  if (*static_cast<volatile std::int32_t*>(&labels.fault->kind) != static_cast<std::int32_t>(FaultKind::none)) return;
  if (losses != 0) loss[0] += losses / *normaliser;
  loss[1] += right;
}

template <int lanes, class Body>
__global__ void __launch_bounds__(blockThreads) visitPixels(std::int64_t count, Body body) {
  constexpr int perBlock = blockThreads / lanes;
  for (std::int64_t first = std::int64_t{blockIdx.x} * perBlock; first < count; first += std::int64_t{gridDim.x} * perBlock)
    body(first + threadIdx.x / lanes);
}

// body(pixel) by each of the pixel's threads, and beyond the last pixel by those that are left of a
// block.
template <int lanes, class Body>
void forEachPixel(const Context& context, const char* name, const Pixels& pixels, const Body& body) {
  launchKernel(context, name, visitPixels<lanes, Body>, blocksFor(context, pixels.count() * lanes), blockThreads, pixels.count(), body);
}

// body(integral constant of the threads of a pixel).
template <class Body>
void withLanes(const Pixels& pixels, const Body& body) {
  if (!pixels.channelsLast() || pixels.channels() <= fewClasses) return body(std::integral_constant<int, 1>());
  if (pixels.channels() <= maxOfEight) return body(std::integral_constant<int, 8>());
  body(std::integral_constant<int, warpThreads>());
}

template <int lanes, class T>
void sumOf(const Context& context, const Pixels& pixels, const Labels& labels, const T* source, const double* normaliser, double* loss) {
  constexpr std::int64_t perBlock = termsPerThread * sumThreads / lanes;
  const std::int64_t blocks = std::clamp<std::int64_t>((pixels.count() + perBlock - 1) / perBlock, 1, Partials::blocks);
  launchKernel(context, "pixelCrossEntropyForward", sumLosses<lanes, T>, blocks, sumThreads, pixels, labels, source, normaliser, loss,
               context.partials);
}

template <int lanes, class T>
void gradientOf(const Context& context, const Pixels& pixels, const Labels& labels, const T* source, const double* normaliser,
                T* sourceGradient) {
  forEachPixel<lanes>(context, "pixelCrossEntropyBackward", pixels, [=] __device__(std::int64_t pixel) {
    const std::int64_t classes = pixels.channels(), stride = pixels.channelStride();
    const Pixels::Offsets at = pixels(pixel < pixels.count() ? pixel : 0);
    const std::int32_t label = pixel < pixels.count() ? labels.at(at.classes) : uncounted;
    const double weight = labels.weight(label);
    const T* const scores = source + at.scores;
    const PixelSoftmax softmax = softmaxOf<lanes>(scores, stride, weight == 0 ? 0 : classes);
    if (pixel >= pixels.count()) return;
    const double share = weight / *normaliser, scale = share / softmax.sum;
    T* const gradient = sourceGradient + at.scores;
    for (std::int64_t k = threadIdx.x % lanes; k < classes; k += lanes) {
      double value = 0;
      if (weight != 0) {
        value = scale * static_cast<double>(expf(scores[k * stride] - softmax.largest.score));
        if (k == label) value -= share;
      }
      gradient[k * stride] = static_cast<T>(value);
    }
  });
}

template <int lanes, class T>
void classesOf(const Context& context, const Pixels& pixels, const T* source, std::uint8_t* classes) {
  forEachPixel<lanes>(context, "argmaxChannels", pixels, [=] __device__(std::int64_t pixel) {
    const Pixels::Offsets at = pixels(pixel < pixels.count() ? pixel : 0);
    const T* const scores = source + at.scores;
    const std::int64_t stride = pixels.channelStride();
    Largest largest{scores[0], 0};
    // Stays 0 where all scores are finite, and is no number otherwise.
    float zero = 0;
#pragma unroll 4
    for (std::int64_t k = threadIdx.x % lanes; k < pixels.channels(); k += lanes) {
      const float score = scores[k * stride];
      zero += score * 0.0F;
      largest.offer(score, k);
    }
    for (int mask = lanes / 2; mask > 0; mask /= 2) {
      const float score = shuffleXor(largest.score, mask);
      zero += shuffleXor(zero, mask);
      largest.offer(score, shuffleXor(largest.place, mask));
    }
    if (pixels.channels() == 1) largest.place = scores[0] > 0.0F ? 1 : 0;
    if (pixel < pixels.count() && threadIdx.x % lanes == 0)
      classes[at.classes] = zero == 0 ? static_cast<std::uint8_t>(largest.place) : noClass;
  });
}

Labels pixelLabelsOf(const Context& context, const PixelCrossEntropy& c, const std::int32_t* labels, const float* classWeights) {
  return {labels, classWeights, c.channels, c.ignored, context.fault};
}

// `classWeights` may be null; `normaliser` is one number on the device.
template <class T>
void pixelCrossEntropyForward(const Context& context, const PixelCrossEntropy& c, const T* source, const std::int32_t* labels,
                              const float* classWeights, const double* normaliser, double* loss) {
  const Pixels pixels(c);
  withLanes(pixels, [&](auto lanes) {
    sumOf<decltype(lanes)::value>(context, pixels, pixelLabelsOf(context, c, labels, classWeights), source, normaliser, loss);
  });
}

template <class T>
void pixelCrossEntropyBackward(const Context& context, const PixelCrossEntropy& c, const T* source, const std::int32_t* labels,
                               const float* classWeights, const double* normaliser, T* sourceGradient) {
  const Pixels pixels(c);
  withLanes(pixels, [&](auto lanes) {
    gradientOf<decltype(lanes)::value>(context, pixels, pixelLabelsOf(context, c, labels, classWeights), source, normaliser, sourceGradient);
  });
}

template <class T>
void argmaxChannels(const Context& context, const PlacedTile& t, const T* source, std::uint8_t* classes) {
  const Pixels pixels(t);
  withLanes(pixels, [&](auto lanes) { classesOf<decltype(lanes)::value>(context, pixels, source, classes); });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compilePixelLoss(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::pixelCrossEntropyForward:
      return compiled(context, [c = tiled<PixelCrossEntropy>(kernel)](const A& a) {
        pixelCrossEntropyForward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at<double>(3), a.at<double>(4));
      });
    case KernelKind::pixelCrossEntropyBackward:
      return compiled(context, [c = tiled<PixelCrossEntropy>(kernel)](const A& a) {
        pixelCrossEntropyBackward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at<double>(3), a.at<T>(4));
      });
    case KernelKind::argmaxChannels:
      return compiled(context,
                      [t = tiled<PlacedTile>(kernel)](const A& a) { argmaxChannels<T>(a.context, t, a.at<T>(0), a.at<std::uint8_t>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compilePixelLoss)

}  // namespace tilefold::cuda
