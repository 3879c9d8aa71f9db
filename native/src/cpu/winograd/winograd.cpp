#include "winograd.hpp"

#include "../processor/parallel.hpp"
#include "few_tiles.hpp"
#include "gradient.hpp"
#include "taps.hpp"

namespace tilefold::cpu {
namespace {

using namespace winograd;

template <int Width>
Planes<Width> sourceOf(const Convolution& c) {
  return {c.inChannels, c.inHeight, c.inWidth};
}
template <int Width>
Planes<Width> destinationOf(const Convolution& c) {
  return {c.outChannels, c.outHeight, c.outWidth};
}

Windows windowsOf(const Convolution& c) { return {c.padTop, c.padLeft, {c.dilationHeight, c.dilationWidth}}; }

bool isForward(Layout layout) { return layout == Layout::winogradForward || layout == Layout::winograd6Forward; }

// The results along an axis of the whole tiles that transformed weights are for.
std::int64_t largestOf(Layout layout) { return layout == Layout::winograd6Forward || layout == Layout::winograd6Backward ? 6 : 4; }

// Of a convolution's tiles, made once, as it is compiled.
template <int Width>
TileGrid gridOf(const Convolution& c, const Planes<Width>& result, std::int64_t largest) {
  return {c.batch, result.height, result.width, {c.dilationHeight, c.dilationWidth}, largest};
}

// Backward, the gradient is padded by what the kernel reaches beyond the source's own padding.
template <int Width, int Largest>
Correlation<Width, Largest> correlationOf(KernelKind kind, const Convolution& c) {
  const Windows windows = windowsOf(c);
  const Planes<Width> source = sourceOf<Width>(c), destination = destinationOf<Width>(c);
  if (kind == KernelKind::convolutionForward) return {source, destination, windows, gridOf(c, destination, Largest), c.batch};
  const auto& [padTop, padLeft, dilation] = windows;
  return {destination, source, {2 * dilation.rows - padTop, 2 * dilation.columns - padLeft, dilation}, gridOf(c, source, Largest), c.batch};
}

template <int Width, int Largest>
Gradient<Width, Largest> gradientOf(const Convolution& c) {
  const Planes<Width> destination = destinationOf<Width>(c);
  return {sourceOf<Width>(c), destination, windowsOf(c), gridOf(c, destination, Largest), weightStrides(c)};
}

bool readsStored(const Convolution& c) { return !layoutInfo(c.weightLayout).transformed(); }

// The whole tiles that a kernel works by.
std::int64_t largestOf(KernelKind kind, const Convolution& c) {
  if (kind != KernelKind::convolutionBackwardWeights) return readsStored(c) ? 4 : largestOf(c.weightLayout);
  const Planes<16> destination = destinationOf<16>(c);
  return gridOf(c, destination, 6).products() < gridOf(c, destination, 4).products() ? 6 : 4;
}

// Whether so many output channels, which lie together in a transform, are equally far apart here,
// and nothing is padded.
bool wholeBlocks(Layout layout, std::int64_t width) {
  const LayoutInfo& info = layoutInfo(layout);
  if (info.transformed() || info.groups != 1 || (info.out != 1 && info.out != width)) return false;
  return weightStrides(layout, width, width, 1, taps).out.pair == 1;
}

// use(constant) of as many channels as lie together in an activation here.
template <class Use>
auto withWidth(const Use& use) {
  return machineBlock() == 16 ? use(std::integral_constant<int, 16>{}) : use(std::integral_constant<int, 8>{});
}

// use(width, largest): that of withWidth, and a constant of a whole tile's results along an axis.
template <class Use>
auto withTiles(std::int64_t largest, const Use& use) {
  return withWidth([&](auto width) {
    return largest == 6 ? use(width, std::integral_constant<int, 6>{}) : use(width, std::integral_constant<int, 4>{});
  });
}

// Whether weights that lie as they are stored may be read, transformed part by part.
bool readsFewTiles(KernelKind kind, const Convolution& c) {
  return wholeBlocks(c.weightLayout, machineBlock()) &&
         withWidth([&](auto width) { return hasFewTiles(correlationOf<width, 4>(kind, c)); });
}

void require(bool holds, const std::string& what) {
  if (!holds) throw Failure("algorithm 1 (Winograd) of this device needs " + what);
}

// A whole block of channels begins `first` floats into the weights.
template <int Width, int Largest>
Launch transformFrom(const WeightReorder& r, const WeightStrides& strides, std::int64_t first) {
  const bool forward = isForward(r.destinationLayout);
  const std::int64_t operandChannels = forward ? r.inChannels : r.outChannels, resultChannels = forward ? r.outChannels : r.inChannels;
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const TapReader<Width> reader(elements<const float>(operands, 0) + first, strides, forward);
    float* transformed = elements(operands, 1);
    const std::int64_t blocks = operandChannels / Width;
    parallelFor(weightChunks<Width>(resultChannels) * blocks, [&](std::int64_t index) {
      const std::int64_t chunk = index / blocks, block = index % blocks, vectors = chunkVectors<Width>(resultChannels, chunk);
      float* to = transformed + chunkOffset<Width, Largest>(operandChannels, chunk);
      alignas(64) float read[Width * maxVectors<Width> * taps * Width];
      for (std::int64_t v = 0; v < vectors; ++v)
        reader.read(block, chunk * maxVectors<Width> + v, read + v * taps * Width, vectors * taps * Width);
      transformTaps<Width, Largest>(read, Width * vectors, to + block * Width * vectors * Width, operandChannels * vectors * Width);
    });
  };
}

}  // namespace

void requireWinograd(KernelKind kind, const Convolution& c) {
  require(c.kernelHeight == 3 && c.kernelWidth == 3, "kernels of 3 x 3");
  require(c.strideHeight == 1 && c.strideWidth == 1, "strides of 1");
  require(c.groups == 1, "1 group");
  require(c.inChannels % 16 == 0 && c.outChannels % 16 == 0, "channels that are multiples of 16");
  require(std::max(c.padTop, c.padBottom) <= 2 * c.dilationHeight && std::max(c.padLeft, c.padRight) <= 2 * c.dilationWidth,
          "padding of at most twice the dilation");
  // Transformed weights, and so the scratch of at most 96 tiles, are counted without overflow.
  checkedMultiply(weightElements(Layout::winograd6Forward, c.outChannels, c.inChannels, 3, 3, 1), 1024);
  const Layout blocked = blockedLayout();
  require(c.sourceLayout == blocked && c.destinationLayout == blocked, std::string("activations in layout ") + layoutInfo(blocked).name);
  if (kind == KernelKind::convolutionBackwardWeights)
    require(wholeBlocks(c.weightLayout, machineBlock()), "a weight gradient that is plain or in the blocks of the activations");
  else if (readsStored(c))
    require(readsFewTiles(kind, c), "at most 96 tiles and many channels where weights are not transformed");
  else if (kind == KernelKind::convolutionForward)
    require(isForward(c.weightLayout), "weights in layout winogradForward or winograd6Forward");
  else
    require(!isForward(c.weightLayout), "weights in layout winogradBackward or winograd6Backward");
}

std::size_t winogradScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  requireWinograd(kind, c);
  return withTiles(largestOf(kind, c), [&](auto width, auto largest) {
    if (kind == KernelKind::convolutionBackwardWeights)
      return static_cast<std::size_t>(gradientScratchBytes(gradientOf<width, largest>(c), threads));
    const auto correlation = correlationOf<width, largest>(kind, c);
    if constexpr (largest == 4)
      if (readsStored(c)) return static_cast<std::size_t>(fewTilesScratchFloats(correlation, threads)) * sizeof(float);
    return static_cast<std::size_t>(correlationScratchFloats(correlation, threads)) * sizeof(float);
  });
}

template <class T>
Launch compileWinograd(KernelKind kind, const Convolution& c, int threads) {
  requireWinograd(kind, c);
  return withTiles(largestOf(kind, c), [&](auto width, auto largest) -> Launch {
    if (kind == KernelKind::convolutionBackwardWeights)
      return [=, gradient = gradientOf<width, largest>(c)](const std::vector<Operand>& operands, const StepParameters&) {
        weightGradient<decltype(width)::value, decltype(largest)::value, T>(
            gradient, threads,
            {elements<const T>(operands, 0), elements<const T>(operands, 1), elements(operands, 2), elements(operands, 3),
             operands[4].address});
      };
    const bool forward = kind == KernelKind::convolutionForward;
    const auto operandsOf = [=](const std::vector<Operand>& operands) {
      return CorrelationOperands<T>{elements<const T>(operands, 0),
                                    elements<const float>(operands, 1),
                                    forward ? elements<const float>(operands, 2) : nullptr,
                                    elements<T>(operands, forward ? 3 : 2),
                                    elements(operands, forward ? 4 : 3),
                                    static_cast<float>(c.slope)};
    };
    const auto correlation = correlationOf<width, largest>(kind, c);
    if constexpr (largest == 4)
      if (readsStored(c))
        return [=, strides = weightStrides(c)](const std::vector<Operand>& operands, const StepParameters&) {
          correlateFewTiles(correlation, strides, forward, threads, operandsOf(operands));
        };
    return [=](const std::vector<Operand>& operands, const StepParameters&) { correlate(correlation, threads, operandsOf(operands)); };
  });
}

template Launch compileWinograd<float>(KernelKind, const Convolution&, int);
template Launch compileWinograd<Bfloat16>(KernelKind, const Convolution&, int);

Launch transformWeights(const WeightReorder& r) {
  const WeightStrides strides = weightStrides(r.sourceLayout, r.outChannels, r.inChannels, 1, taps);
  return withTiles(largestOf(r.destinationLayout), [&](auto width, auto largest) { return transformFrom<width, largest>(r, strides, 0); });
}

Launch transformSlice(const WeightSlice& s) {
  const WeightStrides strides = weightStrides(s.sourceLayout, s.sourceOutChannels, s.sourceInChannels, 1, taps);
  const std::int64_t first = strides.out(s.firstOut) + strides.in(s.firstIn);
  return withTiles(largestOf(s.destinationLayout),
                   [&](auto width, auto largest) { return transformFrom<width, largest>(s, strides, first); });
}

}  // namespace tilefold::cpu
