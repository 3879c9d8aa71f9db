// Written by "npm run generate" from staging/kernels and dsl/expression.
#pragma once
#include <array>
#include <vector>

#include "../kernels/layout.hpp"

namespace tilefold {

// A kernel's position is its code in a Program.
enum class KernelKind : int {
  convolutionForward,
  convolutionBackwardData,
  convolutionBackwardWeights,
  reorderWeights,
  sliceWeights,
  castWeights,
  addBias,
  sumBias,
  linearForward,
  linearBackwardData,
  linearBackwardWeights,
  rectifierForward,
  rectifierBackward,
  addForward,
  dropout,
  pointwiseForward,
  pointwiseBackward,
  pointwiseSum,
  maxPoolForward,
  maxPoolBackward,
  averagePoolForward,
  averagePoolBackward,
  globalAveragePoolForward,
  globalAveragePoolBackward,
  globalMaxPoolForward,
  mergeMaxima,
  globalMaxPoolBackward,
  momentsForward,
  mergeMoments,
  addSums,
  momentsOfRunning,
  updateRunning,
  normaliseForward,
  normaliseBackwardReduce,
  normaliseParameters,
  normaliseBackward,
  resizeForward,
  resizeBackward,
  adaptivePoolForward,
  adaptivePoolBackward,
  padForward,
  padBackward,
  reorderActivation,
  copyChannels,
  pixelShuffle,
  channelShuffle,
  shiftChannels,
  copyBox,
  packTile,
  unpackAddTile,
  zero,
  loadImage,
  softmaxCrossEntropyForward,
  softmaxCrossEntropyBackward,
  meanSquaredErrorForward,
  meanSquaredErrorBackward,
  pixelCrossEntropyForward,
  pixelCrossEntropyBackward,
  argmaxChannels,
  classLossForward,
  classLossBackward,
  sumOverlaps,
  overlapLoss,
  valueLossForward,
  valueLossBackward,
  sgd,
  adam,
  sumSquares,
  clipGradient,
  squareRoot,
  normalisedConvolutionForward,
  normalisedConvolutionBackwardWeights
};

// The fields of kernels, read in order (kernel_fields.hpp).
class FieldReader;

struct Count {
  explicit Count(FieldReader& f);
  std::int64_t count;
};

struct Rectifier : Count {
  explicit Rectifier(FieldReader& f);
  double slope;
};

struct ClipGradient : Count {
  explicit ClipGradient(FieldReader& f);
  double maxNorm;
};

struct Optimizer : Count {
  explicit Optimizer(FieldReader& f);
  double rate;
  double weightDecay;
};

struct Sgd : Optimizer {
  explicit Sgd(FieldReader& f);
  double momentum;
};

struct Adam : Optimizer {
  explicit Adam(FieldReader& f);
  double beta1;
  double beta2;
  double epsilon;
  bool decoupled;
};

struct Zero {
  explicit Zero(FieldReader& f);
  std::int64_t bytes;
};

struct ChannelCount {
  explicit ChannelCount(FieldReader& f);
  std::int64_t channels;
};

struct UpdateRunning : ChannelCount {
  explicit UpdateRunning(FieldReader& f);
  double momentum;
};

struct MergeParts {
  explicit MergeParts(FieldReader& f);
  std::int64_t rows;
  std::int64_t parts;
};

struct AddSums {
  explicit AddSums(FieldReader& f);
  std::int64_t count;
  std::int64_t parts;
};

struct NormaliseParameters {
  explicit NormaliseParameters(FieldReader& f);
  std::int64_t images;
  std::int64_t channels;
};

struct Linear {
  explicit Linear(FieldReader& f);
  std::int64_t batch;
  std::int64_t inFeatures;
  std::int64_t outFeatures;
};

struct CrossEntropy {
  explicit CrossEntropy(FieldReader& f);
  std::int64_t batch;
  std::int64_t classes;
  std::int64_t fullBatch;
};

struct Window {
  explicit Window(FieldReader& f);
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
  explicit Pool(FieldReader& f);
  Layout layout;
};

struct AveragePool : Pool {
  explicit AveragePool(FieldReader& f);
  std::int64_t overhangBottom;
  std::int64_t overhangRight;
  bool countPadding;
};

struct Convolution : Window {
  explicit Convolution(FieldReader& f);
  std::int64_t outChannels;
  std::int64_t groups;
  Layout sourceLayout;
  Layout destinationLayout;
  Layout weightLayout;
  std::int64_t algorithm;
  double slope;
};

struct WeightReorder {
  explicit WeightReorder(FieldReader& f);
  std::int64_t outChannels;
  std::int64_t inChannels;
  std::int64_t kernelHeight;
  std::int64_t kernelWidth;
  std::int64_t groups;
  Layout sourceLayout;
  Layout destinationLayout;
};

struct WeightSlice : WeightReorder {
  explicit WeightSlice(FieldReader& f);
  std::int64_t sourceOutChannels;
  std::int64_t sourceInChannels;
  std::int64_t firstOut;
  std::int64_t firstIn;
};

struct ActivationReorder {
  explicit ActivationReorder(FieldReader& f);
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  Layout sourceLayout;
  Layout destinationLayout;
};

struct Tile {
  explicit Tile(FieldReader& f);
  std::int64_t batch;
  std::int64_t channels;
  std::int64_t height;
  std::int64_t width;
  Layout layout;
};

struct PointwiseTile : Tile {
  explicit PointwiseTile(FieldReader& f);
  bool broadcast;
  bool weightPerChannel;
  bool biasPerChannel;
};

struct Pointwise : PointwiseTile {
  explicit Pointwise(FieldReader& f);
  std::vector<double> expression;
};

struct PointwiseSum : PointwiseTile {
  explicit PointwiseSum(FieldReader& f);
  std::int64_t rows;
  std::vector<double> expression;
};

struct GlobalAveragePool : Tile {
  explicit GlobalAveragePool(FieldReader& f);
  double scale;
};

struct Dropout : Tile {
  explicit Dropout(FieldReader& f);
  std::int64_t fullChannels;
  std::int64_t fullHeight;
  std::int64_t fullWidth;
  std::int64_t layerKey;
  double rate;
};

struct PlacedTile : Tile {
  explicit PlacedTile(FieldReader& f);
  std::int64_t fullHeight;
  std::int64_t fullWidth;
};

struct PixelCrossEntropy : PlacedTile {
  explicit PixelCrossEntropy(FieldReader& f);
  std::int64_t ignored;
};

struct Probabilities : PixelCrossEntropy {
  explicit Probabilities(FieldReader& f);
  bool softmax;
};

struct ClassLoss : Probabilities {
  explicit ClassLoss(FieldReader& f);
  std::vector<double> expression;
};

struct ClassLossBackward : Probabilities {
  explicit ClassLossBackward(FieldReader& f);
  double alpha;
  double beta;
  double smooth;
  double scale;
  std::vector<double> expression;
};

struct OverlapLoss : NormaliseParameters {
  explicit OverlapLoss(FieldReader& f);
  double alpha;
  double beta;
  double smooth;
  double scale;
};

struct LoadImage : PlacedTile {
  explicit LoadImage(FieldReader& f);
  std::vector<double> normalisation;
};

struct StridedTile : Tile {
  explicit StridedTile(FieldReader& f);
  std::int64_t strideBatch;
  std::int64_t strideChannel;
  std::int64_t strideHeight;
};

struct SquaredError : StridedTile {
  explicit SquaredError(FieldReader& f);
  std::int64_t count;
};

struct ValueLoss : StridedTile {
  explicit ValueLoss(FieldReader& f);
  std::vector<double> expression;
};

struct ChannelGroups : Tile {
  explicit ChannelGroups(FieldReader& f);
  std::int64_t groups;
};

struct GroupedTile : ChannelGroups {
  explicit GroupedTile(FieldReader& f);
  bool perImage;
};

struct Normalise : GroupedTile {
  explicit Normalise(FieldReader& f);
  double epsilon;
  double slope;
  bool add;
};

struct NormalisedConvolution : GroupedTile {
  explicit NormalisedConvolution(FieldReader& f);
  double epsilon;
  double slope;
  std::int64_t outChannels;
  Layout weightLayout;
  double outSlope;
};

struct CopyChannels {
  explicit CopyChannels(FieldReader& f);
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
  explicit Resampled(FieldReader& f);
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
  explicit Resize(FieldReader& f);
  bool bilinear;
  bool alignCorners;
};

struct Pad : Resampled {
  explicit Pad(FieldReader& f);
  std::int64_t padTop;
  std::int64_t padLeft;
  std::int64_t mode;
};

struct PixelShuffle {
  explicit PixelShuffle(FieldReader& f);
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
  explicit CopyBox(FieldReader& f);
  std::array<std::int64_t, 4> n;
  std::array<std::int64_t, 3> sourceStride;
  std::array<std::int64_t, 3> destinationStride;
  bool add;
  bool ofParameters;
};

struct ShiftChannels : ActivationReorder {
  explicit ShiftChannels(FieldReader& f);
  std::int64_t sourceChannels;
  std::int64_t offset;
};

}  // namespace tilefold
