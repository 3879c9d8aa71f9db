// The fields of each kind of kernel by name: `const auto c = decode<Convolution>(kernel)`.
// decode reads the numbers in the table's order and throws Failure for one that is not whole; checkKernel proves the rest.
#pragma once
#include <array>
#include <cmath>

#include "host_device.hpp"
#include "kernels.hpp"
#include "whole.hpp"

namespace tilefold {

class Fields {
 public:
  explicit Fields(const Kernel& kernel) : kernel_(kernel) {}

  double number() {
    if (next_ >= kernel_.fields.size()) throw Failure("too few fields");
    const double value = kernel_.fields[next_++];
    if (!std::isfinite(value)) throw Failure("field '" + fieldName() + "' is not a finite number");
    return value;
  }

  std::int64_t integer() {
    const double value = number();
    return wholeNumber("field '" + fieldName() + "'", value);
  }

  Layout layout() {
    const std::int64_t code = integer();
    if (code < 0 || code >= static_cast<std::int64_t>(layouts.size()))
      throw Failure("field '" + fieldName() + "' is no layout's code: " + std::to_string(code));
    return static_cast<Layout>(code);
  }

  bool end() const { return next_ == kernel_.fields.size(); }

  bool flag() {
    const std::int64_t value = integer();
    if (value != 0 && value != 1) throw Failure("field '" + fieldName() + "' is neither 0 nor 1: " + std::to_string(value));
    return value == 1;
  }

 private:
  std::string fieldName() const { return kernelInfo(kernel_.kind).fields.at(next_ - 1); }

  const Kernel& kernel_;
  std::size_t next_ = 0;
};

// A sliding window over a tile that is padded by exactly these amounts.
struct Window {
  explicit Window(Fields& f)
      : batch(f.integer()),
        inChannels(f.integer()),
        inHeight(f.integer()),
        inWidth(f.integer()),
        outHeight(f.integer()),
        outWidth(f.integer()),
        kernelHeight(f.integer()),
        kernelWidth(f.integer()),
        strideHeight(f.integer()),
        strideWidth(f.integer()),
        dilationHeight(f.integer()),
        dilationWidth(f.integer()),
        padTop(f.integer()),
        padBottom(f.integer()),
        padLeft(f.integer()),
        padRight(f.integer()) {}
  std::int64_t batch, inChannels, inHeight, inWidth, outHeight, outWidth;
  std::int64_t kernelHeight, kernelWidth, strideHeight, strideWidth, dilationHeight, dilationWidth;
  std::int64_t padTop, padBottom, padLeft, padRight;
};

constexpr std::int64_t cudnnAlgorithms = 16;   // algorithm 16 + n of a convolution is cuDNN's algorithm n of its direction
constexpr std::int64_t turnedAlgorithms = 32;  // 32 + n of convolutionBackwardData: cuDNN's forward algorithm n with turned weights

// convolutionForward, -BackwardData, -BackwardWeights. inChannels and outChannels count all groups.
// algorithm 0: direct; 1: the cpu device's Winograd; from 16 on: cuDNN's.
struct Convolution : Window {
  explicit Convolution(Fields& f)
      : Window(f),
        outChannels(f.integer()),
        groups(f.integer()),
        sourceLayout(f.layout()),
        destinationLayout(f.layout()),
        weightLayout(f.layout()),
        algorithm(f.integer()),
        slope(f.end() ? 1 : f.number()) {}
  bool winograd() const { return algorithm == 1; }
  std::int64_t outChannels, groups;
  Layout sourceLayout, destinationLayout, weightLayout;
  std::int64_t algorithm;
  double slope;  // of convolutionForward: what negative results are multiplied by; 1 leaves them
};

struct MaxPool : Window {
  explicit MaxPool(Fields& f) : Window(f), layout(f.layout()) {}
  Layout layout;
};

// overhangBottom and overhangRight are the parts of padBottom and padRight that are never counted.
struct AveragePool : Window {
  explicit AveragePool(Fields& f)
      : Window(f), layout(f.layout()), overhangBottom(f.integer()), overhangRight(f.integer()), countPadding(f.flag()) {}
  Layout layout;
  std::int64_t overhangBottom, overhangRight;
  bool countPadding;
};

// inChannels and outChannels count all groups.
struct WeightReorder {
  explicit WeightReorder(Fields& f)
      : outChannels(f.integer()),
        inChannels(f.integer()),
        kernelHeight(f.integer()),
        kernelWidth(f.integer()),
        groups(f.integer()),
        sourceLayout(f.layout()),
        destinationLayout(f.layout()) {}
  std::int64_t outChannels, inChannels, kernelHeight, kernelWidth, groups;
  Layout sourceLayout, destinationLayout;
};

struct ActivationReorder {
  explicit ActivationReorder(Fields& f)
      : batch(f.integer()),
        channels(f.integer()),
        height(f.integer()),
        width(f.integer()),
        sourceLayout(f.layout()),
        destinationLayout(f.layout()) {}
  std::int64_t batch, channels, height, width;
  Layout sourceLayout, destinationLayout;
};

struct Rectifier {
  explicit Rectifier(Fields& f) : count(f.integer()), slope(f.number()) {}
  std::int64_t count;
  double slope;
};

struct Tile {
  explicit Tile(Fields& f) : batch(f.integer()), channels(f.integer()), height(f.integer()), width(f.integer()), layout(f.layout()) {}
  std::int64_t batch, channels, height, width;
  Layout layout;
};

// gather, scatterAdd: where a tile lies in a plain tensor; strides in elements.
struct StridedTile : Tile {
  explicit StridedTile(Fields& f) : Tile(f), strideBatch(f.integer()), strideChannel(f.integer()), strideHeight(f.integer()) {}
  std::int64_t strideBatch, strideChannel, strideHeight;
};

struct SumPixels : Tile {
  explicit SumPixels(Fields& f) : Tile(f), scale(f.number()) {}
  double scale;
};

struct Linear {
  explicit Linear(Fields& f) : batch(f.integer()), inFeatures(f.integer()), outFeatures(f.integer()) {}
  std::int64_t batch, inFeatures, outFeatures;
};

struct Dropout : Tile {
  explicit Dropout(Fields& f)
      : Tile(f), fullChannels(f.integer()), fullHeight(f.integer()), fullWidth(f.integer()), layerKey(f.integer()), rate(f.number()) {}
  std::int64_t fullChannels, fullHeight, fullWidth, layerKey;
  double rate;
};

struct CrossEntropy {
  explicit CrossEntropy(Fields& f) : batch(f.integer()), classes(f.integer()), fullBatch(f.integer()) {}
  std::int64_t batch, classes, fullBatch;
};

struct SquaredError : StridedTile {
  explicit SquaredError(Fields& f) : StridedTile(f), count(f.integer()) {}
  std::int64_t count;
};

// resizeForward and -Backward, adaptivePoolForward and -Backward: tiles of tensors of the full extents.
struct Resampled {
  explicit Resampled(Fields& f)
      : batch(f.integer()),
        channels(f.integer()),
        inHeight(f.integer()),
        inWidth(f.integer()),
        outHeight(f.integer()),
        outWidth(f.integer()),
        layout(f.layout()),
        fullInHeight(f.integer()),
        fullInWidth(f.integer()),
        fullOutHeight(f.integer()),
        fullOutWidth(f.integer()) {}
  std::int64_t batch, channels, inHeight, inWidth, outHeight, outWidth;
  Layout layout;
  std::int64_t fullInHeight, fullInWidth, fullOutHeight, fullOutWidth;
};

struct Resize : Resampled {
  explicit Resize(Fields& f) : Resampled(f), bilinear(f.flag()), alignCorners(f.flag()) {}
  bool bilinear, alignCorners;
};

// In place of a class, of a pixel that has a score that is not finite.
constexpr std::uint8_t noClass = 255;

// A tile of scores [batch, classes, height, width], and the classes of its pixels in a plane of the full extents.
struct ClassifiedTile : Tile {
  explicit ClassifiedTile(Fields& f) : Tile(f), fullHeight(f.integer()), fullWidth(f.integer()) {}
  // Where the classes of a row lie.
  std::int64_t at(std::int64_t image, std::int64_t row) const { return (image * fullHeight + row) * fullWidth; }
  std::int64_t fullHeight, fullWidth;
};

struct PixelCrossEntropy : ClassifiedTile {
  explicit PixelCrossEntropy(Fields& f) : ClassifiedTile(f), ignored(f.integer()) {}
  std::int64_t ignored;
};

// Rows of statistics are groups of channels, of each image by itself where perImage says so.
struct GroupedTile : Tile {
  explicit GroupedTile(Fields& f) : Tile(f), groups(f.integer()), perImage(f.flag()) {}
  // How often each channel is counted apart.
  std::int64_t images() const { return perImage ? batch : 1; }
  std::int64_t rows() const { return images() * groups; }
  TILEFOLD_HOST_DEVICE std::int64_t row(std::int64_t image, std::int64_t channel) const {
    return (perImage ? image * groups : 0) + channel / (channels / groups);
  }
  TILEFOLD_HOST_DEVICE std::int64_t channelRow(std::int64_t image, std::int64_t channel) const {
    return (perImage ? image * channels : 0) + channel;
  }
  std::int64_t groups;
  bool perImage;
};

// normaliseForward, normaliseSums, normaliseBackward. `add`: of the last, whether it adds to the gradient.
struct Normalise : GroupedTile {
  explicit Normalise(Fields& f) : GroupedTile(f), epsilon(f.number()), slope(f.number()), add(!f.end() && f.flag()) {}
  double epsilon, slope;
  bool add;
};

struct ChannelCount {
  explicit ChannelCount(Fields& f) : channels(f.integer()) {}
  std::int64_t channels;
};

struct UpdateRunning : ChannelCount {
  explicit UpdateRunning(Fields& f) : ChannelCount(f), momentum(f.number()) {}
  double momentum;
};

struct NormaliseParameters {
  explicit NormaliseParameters(Fields& f) : images(f.integer()), channels(f.integer()) {}
  std::int64_t images, channels;
};

// Some channels of every pixel of a tile.
struct ChannelRange {
  explicit ChannelRange(Fields& f) : channels(f.integer()), first(f.integer()), layout(f.layout()) {}
  std::int64_t channels, first;
  Layout layout;
};

struct CopyChannels {
  explicit CopyChannels(Fields& f)
      : batch(f.integer()), height(f.integer()), width(f.integer()), count(f.integer()), source(f), destination(f), add(f.flag()) {}
  std::int64_t batch, height, width, count;
  ChannelRange source, destination;
  bool add;
};

enum class ActivationFunction { sigmoid, tanh, silu, gelu };

struct Activation : Tile {
  explicit Activation(Fields& f) : Tile(f), function(f.integer()) {}
  ActivationFunction kind() const { return static_cast<ActivationFunction>(function); }
  std::int64_t function;
};

struct CopyBox {
  explicit CopyBox(Fields& f)
      : extents{f.integer(), f.integer(), f.integer(), f.integer()},
        sourceStrides{f.integer(), f.integer(), f.integer()},
        destinationStrides{f.integer(), f.integer(), f.integer()},
        add(f.flag()),
        ofParameters(f.flag()) {}
  std::array<std::int64_t, 4> extents;
  std::array<std::int64_t, 3> sourceStrides, destinationStrides;
  bool add, ofParameters;
};

struct Zero {
  explicit Zero(Fields& f) : bytes(f.integer()) {}
  std::int64_t bytes;
};

struct LoadImage : Tile {
  explicit LoadImage(Fields& f)
      : Tile(f),
        fullHeight(f.integer()),
        fullWidth(f.integer()),
        mean{f.number(), f.number(), f.number(), f.number()},
        deviation{f.number(), f.number(), f.number(), f.number()} {}
  std::int64_t fullHeight, fullWidth;
  std::array<double, 4> mean, deviation;
};

// rate multiplies the step's learning rate.
struct Optimizer {
  explicit Optimizer(Fields& f) : count(f.integer()), rate(f.number()), weightDecay(f.number()) {}
  std::int64_t count;
  double rate, weightDecay;
};

struct Sgd : Optimizer {
  explicit Sgd(Fields& f) : Optimizer(f), momentum(f.number()) {}
  double momentum;
};

struct Adam : Optimizer {
  explicit Adam(Fields& f) : Optimizer(f), beta1(f.number()), beta2(f.number()), epsilon(f.number()), decoupled(f.flag()) {}
  double beta1, beta2, epsilon;
  bool decoupled;
};

struct SumSquares {
  explicit SumSquares(Fields& f) : count(f.integer()) {}
  std::int64_t count;
};

struct ClipGradient {
  explicit ClipGradient(Fields& f) : count(f.integer()), maxNorm(f.number()) {}
  // What a gradient is multiplied by, given the sum of the squares of all of them; a sum that is no number makes it none either.
  double scale(double sumSquares) const {
    const double ratio = maxNorm / (std::sqrt(sumSquares) + 1e-6);
    return ratio > 1 ? 1 : ratio;
  }
  std::int64_t count;
  double maxNorm;
};

struct SquareRoot {
  explicit SquareRoot(Fields& f) : count(f.integer()) {}
  std::int64_t count;
};

struct RoundWeights {
  explicit RoundWeights(Fields& f) : count(f.integer()) {}
  std::int64_t count;
};

template <class FieldsOfKind>
FieldsOfKind decode(const Kernel& kernel) {
  Fields fields(kernel);
  return FieldsOfKind(fields);
}

}  // namespace tilefold
