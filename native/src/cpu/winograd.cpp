#include "winograd.hpp"

#include "channel_squares.hpp"
#include "parallel.hpp"
#include "winograd_correlation.hpp"
#include "winograd_gradient.hpp"

namespace tilefold::cpu {
namespace {

using namespace winograd;

Planes sourceOf(const Convolution& c) { return {c.inChannels, c.inHeight, c.inWidth}; }
Planes destinationOf(const Convolution& c) { return {c.outChannels, c.outHeight, c.outWidth}; }

Windows windowsOf(const Convolution& c) { return {c.padTop, c.padLeft, {c.dilationHeight, c.dilationWidth}}; }

// Of a convolution's tiles, made once, as it is compiled.
TileGrid gridOf(const Convolution& c, const Planes& result) {
  return {c.batch, result.height, result.width, {c.dilationHeight, c.dilationWidth}};
}

// Backward, the gradient is padded by what the kernel reaches beyond the source's own padding.
Correlation correlationOf(KernelKind kind, const Convolution& c) {
  const Windows windows = windowsOf(c);
  const Planes source = sourceOf(c), destination = destinationOf(c);
  if (kind == KernelKind::convolutionForward) return {source, destination, windows, gridOf(c, destination), c.batch};
  const auto& [padTop, padLeft, dilation] = windows;
  return {destination, source, {2 * dilation.rows - padTop, 2 * dilation.columns - padLeft, dilation}, gridOf(c, source), c.batch};
}

Gradient gradientOf(const Convolution& c) {
  const Planes destination = destinationOf(c);
  return {sourceOf(c), destination, windowsOf(c), gridOf(c, destination), weightStrides(c)};
}

// Whether 16 output channels that lie together in a transform are equally far apart here, and
// nothing is padded.
bool wholeBlocks(Layout layout) {
  const LayoutInfo& info = layoutInfo(layout);
  if (info.transformed() || info.groups != 1 || (info.out != 1 && info.out != lanes)) return false;
  return weightStrides(layout, lanes, lanes, 1, taps).out.pair == 1;
}

void require(bool holds, const char* what) {
  if (!holds) throw Failure(std::string("algorithm 1 (Winograd) of this device needs ") + what);
}

// 16 x 16 pairs of channels: operand channel by operand channel, the result's lie together.
class TapReader {
 public:
  TapReader(const float* weights, const WeightStrides& strides, bool forward)
      : weights_(weights),
        tapStride_(strides.tapStride),
        result_(forward ? strides.out : strides.in),
        operand_(forward ? strides.in : strides.out),
        forward_(forward) {}

  // [tap][16] of every operand channel, `step` floats apart; backward, the taps go back.
  void read(std::int64_t operandBlock, std::int64_t resultBlock, float* vectors, std::int64_t step) const {
    if (!isSquare()) return readEach(operandBlock, resultBlock, vectors, step);
    const float* first = weights_ + operand_(operandBlock * lanes) + result_(resultBlock * lanes);
    forProcessor([=]() TILEFOLD_INLINED {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        float* to = vectors + placeOf(tap) * lanes;
        if (result_.inner == 1)
          copySquareRows(first + tap * tapStride_, to, step);
        else
          transposeSquareRows(first + tap * tapStride_, to, step);
      }
    });
  }

 private:
  std::int64_t placeOf(std::int64_t tap) const { return forward_ ? tap : taps - 1 - tap; }
  // Whether the channels of both blocks lie together.
  bool isSquare() const {
    return result_.block == lanes && operand_.block == lanes && result_.inner * operand_.inner == lanes &&
           (result_.inner == 1 || operand_.inner == 1);
  }
  void readEach(std::int64_t operandBlock, std::int64_t resultBlock, float* vectors, std::int64_t step) const {
    for (std::int64_t channel = 0; channel < lanes; ++channel)
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        const float* from = weights_ + operand_(operandBlock * lanes + channel) + result_(resultBlock * lanes + lane);
        for (std::int64_t tap = 0; tap < taps; ++tap)
          vectors[channel * step + placeOf(tap) * lanes + lane] = from[tap * tapStride_];
      }
  }

  const float* weights_;
  std::int64_t tapStride_;
  BlockedAxis result_, operand_;
  bool forward_;
};

// A whole block of channels begins `first` floats into the weights.
Launch transformFrom(const WeightReorder& r, const WeightStrides& strides, std::int64_t first) {
  const bool forward = r.destinationLayout == Layout::winogradForward;
  const std::int64_t operandChannels = forward ? r.inChannels : r.outChannels, resultChannels = forward ? r.outChannels : r.inChannels;
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const TapReader reader(elements<const float>(operands, 0) + first, strides, forward);
    float* transformed = elements(operands, 1);
    const std::int64_t blocks = operandChannels / lanes;
    parallelFor(weightChunks(resultChannels) * blocks, [&](std::int64_t index) {
      const std::int64_t chunk = index / blocks, block = index % blocks, vectors = chunkVectors(resultChannels, chunk);
      float* to = transformed + chunkOffset(operandChannels, chunk);
      alignas(64) float read[lanes * maxVectors * taps * lanes];
      for (std::int64_t v = 0; v < vectors; ++v)
        reader.read(block, chunk * maxVectors + v, read + v * taps * lanes, vectors * taps * lanes);
      transformTaps(read, lanes * vectors, to + block * lanes * vectors * lanes, operandChannels * vectors * lanes);
    });
  };
}

}  // namespace

void requireWinograd(KernelKind kind, const Convolution& c) {
  require(c.kernelHeight == 3 && c.kernelWidth == 3, "kernels of 3 x 3");
  require(c.strideHeight == 1 && c.strideWidth == 1, "strides of 1");
  require(c.groups == 1, "1 group");
  require(c.inChannels % lanes == 0 && c.outChannels % lanes == 0, "channels that are multiples of 16");
  require(std::max(c.padTop, c.padBottom) <= 2 * c.dilationHeight && std::max(c.padLeft, c.padRight) <= 2 * c.dilationWidth,
          "padding of at most twice the dilation");
  require(c.sourceLayout == Layout::nChw16c && c.destinationLayout == Layout::nChw16c, "activations in layout nChw16c");
  if (kind == KernelKind::convolutionForward)
    require(c.weightLayout == Layout::winogradForward, "weights in layout winogradForward");
  else if (kind == KernelKind::convolutionBackwardData)
    require(c.weightLayout == Layout::winogradBackward, "weights in layout winogradBackward");
  else
    require(wholeBlocks(c.weightLayout), "a weight gradient that is plain or in blocks of 16 channels");
  // Transformed weights, and so the scratch of at most 96 tiles, are counted without overflow.
  checkedMultiply(weightElements(Layout::winogradForward, c.outChannels, c.inChannels, 3, 3, 1), 1024);
}

std::size_t winogradScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  requireWinograd(kind, c);
  if (kind == KernelKind::convolutionBackwardWeights) return static_cast<std::size_t>(gradientScratchBytes(gradientOf(c), threads));
  return static_cast<std::size_t>(correlationScratchFloats(correlationOf(kind, c), threads)) * sizeof(float);
}

template <class T>
Launch compileWinograd(KernelKind kind, const Convolution& c, int threads) {
  requireWinograd(kind, c);
  if (kind == KernelKind::convolutionBackwardWeights)
    return [=, gradient = gradientOf(c)](const std::vector<Operand>& operands, const StepParameters&) {
      weightGradient<T>(gradient, threads,
                        {elements<const T>(operands, 0), elements<const T>(operands, 1), elements(operands, 2), elements(operands, 3),
                         operands[4].address});
    };
  const bool forward = kind == KernelKind::convolutionForward;
  return [=, correlation = correlationOf(kind, c)](const std::vector<Operand>& operands, const StepParameters&) {
    correlate<T>(
        correlation, threads,
        {elements<const T>(operands, 0), elements<const float>(operands, 1), forward ? elements<const float>(operands, 2) : nullptr,
         elements<T>(operands, forward ? 3 : 2), elements(operands, forward ? 4 : 3), static_cast<float>(c.slope)});
  };
}

template Launch compileWinograd<float>(KernelKind, const Convolution&, int);
template Launch compileWinograd<Bfloat16>(KernelKind, const Convolution&, int);

Launch transformWeights(const WeightReorder& r) {
  return transformFrom(r, weightStrides(r.sourceLayout, r.outChannels, r.inChannels, 1, taps), 0);
}

Launch transformSlice(const WeightSlice& s) {
  const WeightStrides strides = weightStrides(s.sourceLayout, s.sourceOutChannels, s.sourceInChannels, 1, taps);
  return transformFrom(s, strides, strides.out(s.firstOut) + strides.in(s.firstIn));
}

}  // namespace tilefold::cpu
