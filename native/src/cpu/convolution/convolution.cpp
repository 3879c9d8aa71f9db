#include "convolution.hpp"

#include "../amx/convolution.hpp"
#include "../amx/correlation.hpp"
#include "../processor/processor.hpp"
#include "../weight_gradients/block_weight_gradient.hpp"
#include "../weight_gradients/depthwise_weight_gradient.hpp"
#include "../weight_gradients/pair_weight_gradient.hpp"
#include "../weight_gradients/plain_weight_gradient.hpp"
#include "../winograd/winograd.hpp"
#include "blocks.hpp"
#include "direct.hpp"
#include "equivalent_convolution.hpp"
#include "strips.hpp"

namespace tilefold::cpu {
namespace {

// Loops of our own that have no other precision.
template <class T>
constexpr bool hasFloatLoops = std::is_same_v<T, float>;

template <class T>
bool isAmx(KernelKind kind, const Convolution& c, int threads) {
  return std::is_same_v<T, Bfloat16> && fitsAmx(kind, c, threads);
}

template <class T>
bool isPairGradient(KernelKind kind, const Convolution& c, int threads) {
  return std::is_same_v<T, Bfloat16> && fitsPairWeightGradient(kind, c, threads);
}

// The first layout in which oneDNN has a compiled kernel; else that of the strips, or plain.
template <class T>
Layout firstSupported(KernelKind kind, Convolution c, const std::vector<Layout>& candidates) {
  for (const Layout layout : candidates) {
    c.weightLayout = layout;
    if (findDirectConvolution<T>(kind, c)) return layout;
  }
  c.weightLayout = kind == KernelKind::convolutionBackwardWeights ? Layout::OIhw16i16o : stripWeightLayout<T>(kind);
  return fitsStrips<T>(kind, c) || isPairGradient<T>(kind, c, 1) ? c.weightLayout : Layout::plain;
}

// Where four blocks of an image are over 2 GiB, oneDNN's weight gradients may overflow addresses:
// 1 x 1 kernels of 64 channels over 4096 x 4096 fault (2.6.3 and 3.7.2 alike).
bool overflows(const Convolution& c) {
  constexpr std::int64_t overflowing = std::int64_t{1} << 23;
  return std::max(c.inHeight * c.inWidth, c.outHeight * c.outWidth) >= overflowing;
}

// Its other kernels of 1 x 1, and of bf16, write up to four blocks of results side by side, at
// distances in 32 bits: in float those of 48 channels fault over 4096 x 4096, in bf16 those of 64
// over 5800 x 5800 (2.6.3).
template <class T>
bool overflows(KernelKind kind, const Convolution& c, const Recipe& recipe) {
  constexpr std::int64_t range = std::int64_t{1} << 31, blocks = 4;
  const auto pixelBytes = channelBlock(c.destinationLayout) * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t pixels = kind == KernelKind::convolutionForward ? c.outHeight * c.outWidth : c.inHeight * c.inWidth;
  const bool counts = recipe.name().find("1x1") != std::string::npos || recipe.name().rfind("jit_bf16", 0) == 0;
  return counts && pixels > range / blocks / pixelBytes;
}

// oneDNN (2.6.3 and 3.7.2 alike) sums a weight gradient one float after another, but of 1 x 1
// kernels from blocks: over 64 x 64 pixels it keeps six digits, over 1024 x 1024 four, ours all.
// Elsewhere than from an image, or in blocks of 16, groups that fill no block would leave our
// matrices half empty, and few channels few matrices to share among the threads. Of bf16 it has
// instructions that are twice as fast as those of our blocks.
template <class T>
bool sumsTooLong(const Convolution& c, const Recipe& recipe, int threads) {
  constexpr KernelKind kind = KernelKind::convolutionBackwardWeights;
  constexpr std::int64_t longest = 64 * 64;
  if (c.batch * c.outHeight * c.outWidth <= longest) return false;
  if (fitsDepthwiseWeightGradient(kind, c)) return true;
  const bool isPointwise = recipe.name().rfind("jit_1x1", 0) == 0;
  if (!hasFloatLoops<T> || isPointwise) return false;
  if (fitsPlainWeightGradient(kind, c) || fitsBlockWeightGradient(kind, c)) return true;
  const std::int64_t block = channelBlock(c.destinationLayout), in = ceilDivide(c.inChannels, block), out = ceilDivide(c.outChannels, block);
  const std::int64_t matrices = out * in / c.groups * c.kernelHeight * c.kernelWidth;
  const bool fillsBlocks = c.groups == 1 || (c.inChannels % (c.groups * block) == 0 && c.outChannels % (c.groups * block) == 0);
  return fillsBlocks && matrices >= threads;
}

// From a dilation of 12 rows on oneDNN's forward kernel of 2048 channels takes half as long again
// as our strips; to 8 it is as fast.
template <class T>
bool readsTooFar(KernelKind kind, const Convolution& c) {
  return std::is_same_v<T, Bfloat16> && kind == KernelKind::convolutionForward && c.dilationHeight > 8 && fitsStrips<T>(kind, c);
}

template <class T>
std::optional<Recipe> findRecipe(KernelKind kind, const Convolution& c, int threads) {
  const bool isGradient = kind == KernelKind::convolutionBackwardWeights;
  if (isGradient && overflows(c)) return std::nullopt;
  if (readsTooFar<T>(kind, c)) return std::nullopt;
  std::optional<Recipe> recipe = findDirectConvolution<T>(kind, c);
  if (recipe && (isGradient ? sumsTooLong<T>(c, *recipe, threads) : overflows<T>(kind, c, *recipe))) return std::nullopt;
  return recipe;
}

void requireOurs(const Convolution& c) {
  if (c.algorithm > winogradAlgorithm)
    throw Failure("the cpu device convolves by algorithm 0 or 1, not by a GPU's, " + std::to_string(c.algorithm));
  for (const Layout layout : {c.sourceLayout, c.destinationLayout, c.weightLayout})
    if (layout == Layout::nhwc || layout == Layout::ohwi)
      throw Failure(std::string("the cpu device has no convolution in layout ") + layoutInfo(layout).name);
}

}  // namespace

template <class T>
std::size_t convolutionScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  requireOurs(c);
  if (c.algorithm == winogradAlgorithm) return winogradScratchBytes(kind, c, threads);
  if (isAmx<T>(kind, c, threads)) return amxScratchBytes(kind, c, threads);
  if (isPairGradient<T>(kind, c, threads)) return pairWeightGradientScratchBytes(c, threads);
  const std::optional<Recipe> recipe = findRecipe<T>(kind, c, threads);
  if (recipe) return recipe->scratchBytes();
  if (const auto other = findEquivalent<T>(kind, c)) return other->scratchBytes();
  if (fitsDepthwiseWeightGradient(kind, c)) return depthwiseWeightGradientScratchBytes<T>(c, threads);
  if (fitsStrips<T>(kind, c)) return stripConvolutionScratchBytes<T>(kind, c, threads);
  if (hasFloatLoops<T> && fitsBlockWeightGradient(kind, c)) return blockWeightGradientScratchBytes(c, threads);
  return blockConvolutionScratchBytes<T>(kind, c, threads);
}

template <class T>
Implementation compileConvolution(KernelKind kind, const Convolution& c, int threads) {
  requireOurs(c);
  if (c.algorithm == winogradAlgorithm) return {compileWinograd<T>(kind, c, threads), "winograd"};
  if (isAmx<T>(kind, c, threads)) return {compileAmx(kind, c, threads), "amx"};
  if (isPairGradient<T>(kind, c, threads)) return {compilePairWeightGradient(c, threads), "pairs"};
  const std::optional<Recipe> recipe = findRecipe<T>(kind, c, threads);
  if (recipe) return {compileDirectConvolution<T>(kind, c, *recipe), recipe->name()};
  if (const auto other = findEquivalent<T>(kind, c)) return {compileEquivalent<T>(kind, c, *other), other->recipe.name()};
  if (fitsDepthwiseWeightGradient(kind, c)) return {compileDepthwiseWeightGradient<T>(c, threads), "depthwise"};
  if (fitsStrips<T>(kind, c)) return {compileStripConvolution<T>(kind, c, threads), "strips"};
  if (hasFloatLoops<T> && fitsPlainWeightGradient(kind, c)) return {compilePlainWeightGradient(c, threads), "taps"};
  if (hasFloatLoops<T> && fitsBlockWeightGradient(kind, c)) return {compileBlockWeightGradient(c), "block sums"};
  return {compileBlockConvolution<T>(kind, c, threads), "blocks"};
}

template <class T>
Device::WeightLayouts convolutionWeightLayouts(const Convolution& given) {
  const bool wide = machineBlock() == 16;
  const Layout blocked = blockedLayout();
  Convolution c = given;
  c.destinationLayout = blocked;
  const Layout depthwise = wide ? Layout::Goihw16g : Layout::Goihw8g;
  const std::vector<Layout> stored{wide ? Layout::OIhw16i16o : Layout::OIhw8i8o, wide ? Layout::Ohwi16o : Layout::Ohwi8o, depthwise};
  if (std::is_same_v<T, float>) {
    const Layout forward = firstSupported<T>(KernelKind::convolutionForward, c, stored);
    c.sourceLayout = blocked;
    const Layout backwardData =
        firstSupported<T>(KernelKind::convolutionBackwardData, c,
                          {wide ? Layout::IOhw16o16i : Layout::IOhw8o8i, wide ? Layout::OIhw16o16i : Layout::OIhw8o8i, depthwise});
    return {forward, forward, backwardData};
  }
  // Gradients are written as in float, but products read pairs of channels.
  if (c.sourceLayout == blocked && c.groups == 1 && multipliesMatrices())
    return {Layout::OIhw16i16o, amxWeightLayout(KernelKind::convolutionForward), amxWeightLayout(KernelKind::convolutionBackwardData)};
  const Layout written = firstSupported<T>(KernelKind::convolutionBackwardWeights, c, stored);
  c.weightLayout = Layout::Ohwi16o2i;
  const Layout forward =
      isAmx<T>(KernelKind::convolutionForward, c, 1)
          ? c.weightLayout
          : firstSupported<T>(KernelKind::convolutionForward, c, {Layout::OIhw8i16o2i, Layout::Ohwi16o2i, Layout::Goihw16g});
  c.sourceLayout = blocked;
  // With strides the first has kernels for even extents alone, and the second is as fast.
  const bool strided = c.strideHeight > 1 || c.strideWidth > 1;
  const Layout first = strided ? Layout::OIhw8o16i2o : Layout::IOhw8o16i2o, second = strided ? Layout::IOhw8o16i2o : Layout::OIhw8o16i2o;
  const Layout backwardData = firstSupported<T>(KernelKind::convolutionBackwardData, c, {first, second, Layout::Goihw16g});
  return {written, forward, backwardData};
}

#define TILEFOLD_INSTANTIATE(T)                                                         \
  template std::size_t convolutionScratchBytes<T>(KernelKind, const Convolution&, int); \
  template Implementation compileConvolution<T>(KernelKind, const Convolution&, int);   \
  template Device::WeightLayouts convolutionWeightLayouts<T>(const Convolution&);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
