// Written by "npm run generate" from staging/kernels and dsl/expression.
#pragma once
#include <array>
#include <vector>

#include "../field_reader.hpp"

namespace tilefold {

struct Count {
  explicit Count(FieldReader& f)
      : count(f.integer()) {}
  std::int64_t count;
};

struct Rectifier : Count {
  explicit Rectifier(FieldReader& f)
      : Count(f),
        slope(f.number()) {}
  double slope;
};

struct ClipGradient : Count {
  explicit ClipGradient(FieldReader& f)
      : Count(f),
        maxNorm(f.number()) {}
  double maxNorm;
};

struct Optimizer : Count {
  explicit Optimizer(FieldReader& f)
      : Count(f),
        rate(f.number()),
        weightDecay(f.number()) {}
  double rate;
  double weightDecay;
};

struct Sgd : Optimizer {
  explicit Sgd(FieldReader& f)
      : Optimizer(f),
        momentum(f.number()) {}
  double momentum;
};

struct Adam : Optimizer {
  explicit Adam(FieldReader& f)
      : Optimizer(f),
        beta1(f.number()),
        beta2(f.number()),
        epsilon(f.number()),
        decoupled(f.flag()) {}
  double beta1;
  double beta2;
  double epsilon;
  bool decoupled;
};

struct Zero {
  explicit Zero(FieldReader& f)
      : bytes(f.integer()) {}
  std::int64_t bytes;
};

struct ChannelCount {
  explicit ChannelCount(FieldReader& f)
      : channels(f.integer()) {}
  std::int64_t channels;
};

struct UpdateRunning : ChannelCount {
  explicit UpdateRunning(FieldReader& f)
      : ChannelCount(f),
        momentum(f.number()) {}
  double momentum;
};

struct NormaliseParameters {
  explicit NormaliseParameters(FieldReader& f)
      : images(f.integer()),
        channels(f.integer()) {}
  std::int64_t images;
  std::int64_t channels;
};

struct Linear {
  explicit Linear(FieldReader& f)
      : batch(f.integer()),
        inFeatures(f.integer()),
        outFeatures(f.integer()) {}
  std::int64_t batch;
  std::int64_t inFeatures;
  std::int64_t outFeatures;
};

struct CrossEntropy {
  explicit CrossEntropy(FieldReader& f)
      : batch(f.integer()),
        classes(f.integer()),
        fullBatch(f.integer()) {}
  std::int64_t batch;
  std::int64_t classes;
  std::int64_t fullBatch;
};

struct Window {
  explicit Window(FieldReader& f)
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
  std::int64_t batch;
  std::int64_t inChannels;
  std::int64_t inHeight;
  std::int64_t inWidth;
  std::int64_t outHeight;
  std::int64_t outWidth;
  std::int64_t kernelHeight;
  std::int64_t kernelWidth;
  std::int64_t strideHeight;
  std::int64_t strideWidth;
  std::int64_t dilationHeight;
  std::int64_t dilationWidth;
  std::int64_t padTop;
  std::int64_t padBottom;
  std::int64_t padLeft;
  std::int64_t padRight;
};

struct Pool : Window {
  explicit Pool(FieldReader& f)
      : Window(f),
        layout(f.layout()) {}
  Layout layout;
};

struct AveragePool : Pool {
  explicit AveragePool(FieldReader& f)
      : Pool(f),
        overhangBottom(f.integer()),
        overhangRight(f.integer()),
        countPadding(f.flag()) {}
  std::int64_t overhangBottom;
  std::int64_t overhangRight;
  bool countPadding;
};

struct Convolution : Window {
  explicit Convolution(FieldReader& f)
      : Window(f),
        outChannels(f.integer()),
        groups(f.integer()),
        sourceLayout(f.layout()),
        destinationLayout(f.layout()),
        weightLayout(f.layout()),
        algorithm(f.integer()),
        slope(f.end() ? 1 : f.number()) {}
  std::int64_t outChannels;
  std::int64_t groups;
  Layout sourceLayout;
  Layout destinationLayout;
  Layout weightLayout;
  std::int64_t algorithm;
  double slope;
};

struct WeightReorder {
  explicit WeightReorder(FieldReader& f)
      : outChannels(f.integer()),
        inChannels(f.integer()),
        kernelHeight(f.integer()),
        kernelWidth(f.integer()),
        groups(f.integer()),
        sourceLayout(f.layout()),
        destinationLayout(f.layout()) {}
  std::int64_t outChannels;
  std::int64_t inChannels;
  std::int64_t kernelHeight;
  std::int64_t kernelWidth;
  std::int64_t groups;
  Layout sourceLayout;
  Layout destinationLayout;
};

struct ActivationReorder {
  explicit ActivationReorder(FieldReader& f)
      : batch(f.integer()),
        channels(f.integer()),
        height(f.integer()),
        width(f.integer()),
        sourceLayout(f.layout()),
        destinationLayout(f.layout()) {}
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  Layout sourceLayout;
  Layout destinationLayout;
};

struct Tile {
  explicit Tile(FieldReader& f)
      : batch(f.integer()),
        channels(f.integer()),
        height(f.integer()),
        width(f.integer()),
        layout(f.layout()) {}
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  Layout layout;
};

struct PointwiseTile : Tile {
  explicit PointwiseTile(FieldReader& f)
      : Tile(f),
        broadcast(f.flag()),
        weightPerChannel(f.flag()),
        biasPerChannel(f.flag()) {}
  bool broadcast;
  bool weightPerChannel;
  bool biasPerChannel;
};

struct Pointwise : PointwiseTile {
  explicit Pointwise(FieldReader& f)
      : PointwiseTile(f),
        expression(f.numbers()) {}
  std::vector<double> expression;
};

struct PointwiseSum : PointwiseTile {
  explicit PointwiseSum(FieldReader& f)
      : PointwiseTile(f),
        rows(f.integer()),
        expression(f.numbers()) {}
  std::int64_t rows;
  std::vector<double> expression;
};

struct GlobalAveragePool : Tile {
  explicit GlobalAveragePool(FieldReader& f)
      : Tile(f),
        scale(f.number()) {}
  double scale;
};

struct Dropout : Tile {
  explicit Dropout(FieldReader& f)
      : Tile(f),
        fullChannels(f.integer()),
        fullHeight(f.integer()),
        fullWidth(f.integer()),
        layerKey(f.integer()),
        rate(f.number()) {}
  std::int64_t fullChannels;
  std::int64_t fullHeight;
  std::int64_t fullWidth;
  std::int64_t layerKey;
  double rate;
};

struct PlacedTile : Tile {
  explicit PlacedTile(FieldReader& f)
      : Tile(f),
        fullHeight(f.integer()),
        fullWidth(f.integer()) {}
  std::int64_t fullHeight;
  std::int64_t fullWidth;
};

struct PixelCrossEntropy : PlacedTile {
  explicit PixelCrossEntropy(FieldReader& f)
      : PlacedTile(f),
        ignored(f.integer()) {}
  std::int64_t ignored;
};

struct LoadImage : PlacedTile {
  explicit LoadImage(FieldReader& f)
      : PlacedTile(f),
        mean{f.number(), f.number(), f.number(), f.number()},
        deviation{f.number(), f.number(), f.number(), f.number()} {}
  std::array<double, 4> mean;
  std::array<double, 4> deviation;
};

struct StridedTile : Tile {
  explicit StridedTile(FieldReader& f)
      : Tile(f),
        strideBatch(f.integer()),
        strideChannel(f.integer()),
        strideHeight(f.integer()) {}
  std::int64_t strideBatch;
  std::int64_t strideChannel;
  std::int64_t strideHeight;
};

struct SquaredError : StridedTile {
  explicit SquaredError(FieldReader& f)
      : StridedTile(f),
        count(f.integer()) {}
  std::int64_t count;
};

struct ChannelGroups : Tile {
  explicit ChannelGroups(FieldReader& f)
      : Tile(f),
        groups(f.integer()) {}
  std::int64_t groups;
};

struct GroupedTile : ChannelGroups {
  explicit GroupedTile(FieldReader& f)
      : ChannelGroups(f),
        perImage(f.flag()) {}
  bool perImage;
};

struct Normalise : GroupedTile {
  explicit Normalise(FieldReader& f)
      : GroupedTile(f),
        epsilon(f.number()),
        slope(f.number()),
        add(f.end() ? false : f.flag()) {}
  double epsilon;
  double slope;
  bool add;
};

struct CopyChannels {
  explicit CopyChannels(FieldReader& f)
      : batch(f.integer()),
        height(f.integer()),
        width(f.integer()),
        count(f.integer()),
        sourceChannels(f.integer()),
        sourceFirst(f.integer()),
        sourceLayout(f.layout()),
        destinationChannels(f.integer()),
        destinationFirst(f.integer()),
        destinationLayout(f.layout()),
        add(f.flag()) {}
  std::int64_t batch;
  std::int64_t height;
  std::int64_t width;
  std::int64_t count;
  std::int64_t sourceChannels;
  std::int64_t sourceFirst;
  Layout sourceLayout;
  std::int64_t destinationChannels;
  std::int64_t destinationFirst;
  Layout destinationLayout;
  bool add;
};

struct Resampled {
  explicit Resampled(FieldReader& f)
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
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t inHeight;
  std::int64_t inWidth;
  std::int64_t outHeight;
  std::int64_t outWidth;
  Layout layout;
  std::int64_t fullInHeight;
  std::int64_t fullInWidth;
  std::int64_t fullOutHeight;
  std::int64_t fullOutWidth;
};

struct Resize : Resampled {
  explicit Resize(FieldReader& f)
      : Resampled(f),
        bilinear(f.flag()),
        alignCorners(f.flag()) {}
  bool bilinear;
  bool alignCorners;
};

struct Pad : Resampled {
  explicit Pad(FieldReader& f)
      : Resampled(f),
        padTop(f.integer()),
        padLeft(f.integer()),
        mode(f.integer()) {}
  std::int64_t padTop;
  std::int64_t padLeft;
  std::int64_t mode;
};

struct PixelShuffle {
  explicit PixelShuffle(FieldReader& f)
      : batch(f.integer()),
        channels(f.integer()),
        height(f.integer()),
        width(f.integer()),
        coarseHeight(f.integer()),
        coarseWidth(f.integer()),
        factor(f.integer()),
        rowsBefore(f.integer()),
        columnsBefore(f.integer()),
        sourceLayout(f.layout()),
        destinationLayout(f.layout()),
        inverse(f.flag()) {}
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  std::int64_t coarseHeight;
  std::int64_t coarseWidth;
  std::int64_t factor;
  std::int64_t rowsBefore;
  std::int64_t columnsBefore;
  Layout sourceLayout;
  Layout destinationLayout;
  bool inverse;
};

struct CopyBox {
  explicit CopyBox(FieldReader& f)
      : n{f.integer(), f.integer(), f.integer(), f.integer()},
        sourceStride{f.integer(), f.integer(), f.integer()},
        destinationStride{f.integer(), f.integer(), f.integer()},
        add(f.flag()),
        ofParameters(f.flag()) {}
  std::array<std::int64_t, 4> n;
  std::array<std::int64_t, 3> sourceStride;
  std::array<std::int64_t, 3> destinationStride;
  bool add;
  bool ofParameters;
};

}  // namespace tilefold
