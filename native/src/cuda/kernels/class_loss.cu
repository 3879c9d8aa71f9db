// Losses of scores and classes, by an expression of each channel in float32, and sums over images
// for Dice and Tversky; plain or nhwc. Semantics: reference/class_loss.cpp. Sums are of double. A
// label that is none is recorded in context.fault, and the sums stay as they were.
#include "compiled.hpp"
#include "families.hpp"
#include "interpreted.cuh"
#include "pixels.cuh"
#include "reduction.cuh"

namespace tilefold::cuda {
namespace {

__device__ bool isFaultless(const Fault* fault) {
  return *static_cast<const volatile std::int32_t*>(&fault->kind) == static_cast<std::int32_t>(FaultKind::none);
}

// The scores of a tile's pixels, and what the loss of a channel is a function of: the logarithm of
// the softmax or the score itself.
template <class T>
class Inputs {
 public:
  Inputs(const Probabilities& p, const T* source) : pixels_(p), softmax_(p.softmax), source_(source) {}

  // Of one pixel.
  class Pixel {
   public:
    __device__ Pixel(const Pixels& pixels, bool softmax, const T* scores)
        : softmax_(softmax), stride_(pixels.channelStride()), channels_(pixels.channels()), scores_(scores) {
      if (!softmax) return;
      float largest = score(0);
      for (std::int64_t k = 1; k < channels_; ++k) largest = score(k) > largest ? score(k) : largest;
      double sum = 0;
      for (std::int64_t k = 0; k < channels_; ++k) sum += static_cast<double>(expf(score(k) - largest));
      all_ = static_cast<double>(largest) + log(sum);
    }
    __device__ float score(std::int64_t channel) const { return static_cast<float>(scores_[channel * stride_]); }
    __device__ float operator[](std::int64_t channel) const { return static_cast<float>(static_cast<double>(score(channel)) - all_); }
    __device__ float probability(std::int64_t channel) const {
      const float input = (*this)[channel];
      return softmax_ ? expf(input) : 1 / (1 + expf(-input));
    }
    // Of a single channel, 1 where its score is above 0; else the first of the largest. -1 where
    // that is no number.
    __device__ std::int64_t predicted() const {
      std::int64_t best = 0;
      for (std::int64_t k = 1; k < channels_; ++k)
        if (score(k) > score(best)) best = k;
      if (score(best) != score(best)) return -1;
      return channels_ > 1 ? best : score(0) > 0 ? 1 : 0;
    }

   private:
    bool softmax_;
    std::int64_t stride_, channels_;
    const T* scores_;
    double all_ = 0;
  };

  __host__ __device__ const Pixels& pixels() const { return pixels_; }
  __device__ std::int64_t channels() const { return pixels_.channels(); }
  __device__ bool softmax() const { return softmax_; }
  __device__ Pixels::Offsets at(std::int64_t pixel) const { return pixels_(pixel); }
  __device__ Pixel read(const Pixels::Offsets& at) const { return {pixels_, softmax_, source_ + at.scores}; }

 private:
  Pixels pixels_;
  bool softmax_;
  const T* source_;
};

__device__ double weightOf(const float* weights, std::int64_t index) {
  return weights == nullptr ? 1 : static_cast<double>(weights[index]);
}

__device__ double sumOfWeights(const float* classWeights, std::int64_t channels) {
  if (classWeights == nullptr) return static_cast<double>(channels);
  double sum = 0;
  for (std::int64_t k = 0; k < channels; ++k) sum += static_cast<double>(classWeights[k]);
  return sum;
}

Labels labelsOf(const Context& context, const PixelCrossEntropy& c, const std::int32_t* labels, const float* classWeights) {
  return {labels, classWeights, labelCount(c.channels), c.ignored, context.fault};
}

// The loss of a pixel, and whether its class is the one that is predicted.
template <class T>
struct LossTerms {
  Inputs<T> inputs;
  Labels labels;
  Interpreted function;
  const float* rowWeights;
  std::int64_t ofImage;

  __device__ Sums<2> operator()(std::int64_t pixel) const {
    const Pixels::Offsets at = inputs.at(pixel);
    const std::int32_t label = labels.at(at.classes);
    if (label == uncounted) return {};
    const auto read = inputs.read(at);
    double loss = 0;
    for (std::int64_t k = 0; k < inputs.channels(); ++k) {
      const double weight = weightOf(labels.classWeights, k) * weightOf(rowWeights, pixel / ofImage);
      const auto target = static_cast<float>(targetOf(inputs.channels(), k, label));
      if (weight != 0) loss += weight * static_cast<double>(function({read[k], target, 0.0F, 0.0F, 0.0F}));
    }
    return {{loss, read.predicted() == label ? 1.0 : 0.0}};
  }
};

template <class T>
void classLossForward(const Context& context, const ClassLoss& c, const T* source, const std::int32_t* labels, const float* classWeights,
                      const float* rowWeights, const double* normaliser, double* loss) {
  const LossTerms<T> terms{{c, source}, labelsOf(context, c, labels, classWeights), Interpreted(c.expression), rowWeights, c.height * c.width};
  const Fault* fault = context.fault;
  forEachSum<1>(
      context, "classLossForward", 1, terms.inputs.pixels().count(), [=] __device__(std::int64_t) { return terms; },
      [=] __device__(std::int64_t, const Sums<2>& sums) {
        if (!isFaultless(fault)) return;
        if (sums.values[0] != 0) loss[0] += sums.values[0] / *normaliser;
        loss[1] += sums.values[1];
      });
}

// The index of which an overlap is the gradient; none where overlaps is null.
struct IndexFields {
  double alpha, beta, smooth, scale;
};

// The gradients of a pixel's inputs become those of its scores: a pixel that does not count has
// none.
template <class T>
void classLossBackward(const Context& context, const ClassLossBackward& c, const T* source, const std::int32_t* labels,
                       const float* classWeights, const float* rowWeights, const double* normaliser, const double* overlaps,
                       T* sourceGradient) {
  const Inputs<T> inputs(c, source);
  const Labels targets = labelsOf(context, c, labels, classWeights);
  const Interpreted function(c.expression);
  const IndexFields index{c.alpha, c.beta, c.smooth, c.scale};
  const std::int64_t ofImage = c.height * c.width;
  forEach(context, "classLossBackward", inputs.pixels().count(), [=] __device__(std::int64_t pixel) {
    const Pixels::Offsets at = inputs.at(pixel);
    const std::int32_t label = targets.at(at.classes);
    const std::int64_t channels = inputs.channels(), stride = inputs.pixels().channelStride();
    T* const gradient = sourceGradient + at.scores;
    if (label == uncounted) {
      for (std::int64_t k = 0; k < channels; ++k) gradient[k * stride] = static_cast<T>(0.0F);
      return;
    }
    const auto read = inputs.read(at);
    const double scale = overlaps == nullptr ? 0 : index.scale / sumOfWeights(classWeights, channels);
    const auto gradientOf = [&](std::int64_t k) {
      const double weight = weightOf(classWeights, k), target = targetOf(channels, k, label);
      if (weight == 0) return 0.0;
      const auto share = static_cast<float>(weight * weightOf(rowWeights, pixel / ofImage) / *normaliser);
      auto own = static_cast<double>(function({read[k], static_cast<float>(target), share, 0.0F, 0.0F}));
      if (overlaps != nullptr) {
        const auto p = static_cast<double>(read.probability(k));
        own += scale * weight * Index(index, overlaps + (pixel / ofImage * channels + k) * 3).derivative(index, target) *
               (inputs.softmax() ? p : p * (1 - p));
      }
      return own;
    };
    double sum = 0;
    if (inputs.softmax())
      for (std::int64_t k = 0; k < channels; ++k) sum += gradientOf(k);
    for (std::int64_t k = 0; k < channels; ++k)
      gradient[k * stride] =
          static_cast<T>(static_cast<float>(gradientOf(k) - (inputs.softmax() ? sum * static_cast<double>(read.probability(k)) : 0)));
  });
}

// Of one channel of an image, over its pixels: what its overlaps are the sums of.
template <class T>
struct OverlapTerms {
  Inputs<T> inputs;
  Labels labels;
  std::int64_t channel, first;

  __device__ Sums<3> operator()(std::int64_t pixel) const {
    const Pixels::Offsets at = inputs.at(first + pixel);
    const std::int32_t label = labels.at(at.classes);
    if (label == uncounted) return {};
    const auto probability = static_cast<double>(inputs.read(at).probability(channel));
    const double target = targetOf(inputs.channels(), channel, label);
    return {{probability * target, probability, target}};
  }
};

template <class T>
void sumOverlaps(const Context& context, const Probabilities& p, const T* source, const std::int32_t* labels, double* overlaps) {
  const Inputs<T> inputs(p, source);
  const Labels targets = labelsOf(context, p, labels, nullptr);
  const std::int64_t ofImage = p.height * p.width, channels = p.channels;
  const Fault* fault = context.fault;
  forEachSum<1>(
      context, "sumOverlaps", p.batch * channels, ofImage,
      [=] __device__(std::int64_t row) {
        return OverlapTerms<T>{inputs, targets, row % channels, row / channels * ofImage};
      },
      [=] __device__(std::int64_t row, const Sums<3>& sums) {
        if (!isFaultless(fault)) return;
        for (int k = 0; k < 3; ++k) overlaps[row * 3 + k] += sums.values[k];
      });
}

void overlapLoss(const Context& context, const OverlapLoss& o, const double* overlaps, const float* classWeights, double* loss) {
  const IndexFields index{o.alpha, o.beta, o.smooth, o.scale};
  const std::int64_t channels = o.channels;
  forEachSum<1>(
      context, "overlapLoss", 1, o.images * channels,
      [=] __device__(std::int64_t) {
        return [=] __device__(std::int64_t row) {
          return weightOf(classWeights, row % channels) * Index(index, overlaps + row * 3).loss();
        };
      },
      [=] __device__(std::int64_t, double sum) { loss[0] += index.scale * sum / sumOfWeights(classWeights, channels); });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileClassLoss(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::classLossForward:
      return compiled(context, [c = tiled<ClassLoss>(kernel)](const A& a) {
        classLossForward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at(3), a.at<double>(4), a.at<double>(5));
      });
    case KernelKind::classLossBackward:
      return compiled(context, [c = tiled<ClassLossBackward>(kernel)](const A& a) {
        classLossBackward<T>(a.context, c, a.at<T>(0), a.at<std::int32_t>(1), a.at(2), a.at(3), a.at<double>(4), a.at<double>(5),
                             a.at<T>(6));
      });
    case KernelKind::sumOverlaps:
      return compiled(context, [p = tiled<Probabilities>(kernel)](const A& a) {
        sumOverlaps<T>(a.context, p, a.at<T>(0), a.at<std::int32_t>(1), a.at<double>(2));
      });
    case KernelKind::overlapLoss:
      return compiled(context, [o = decode<OverlapLoss>(kernel)](const A& a) {
        overlapLoss(a.context, o, a.at<double>(0), a.at(1), a.at<double>(2));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileClassLoss)

}  // namespace tilefold::cuda
