#include "convolution.hpp"

#include "convolution_blocks.hpp"
#include "convolution_direct.hpp"
#include "convolution_strips.hpp"
#include "processor.hpp"
#include "winograd.hpp"

namespace tilefold::cpu {
namespace {

Layout firstSupported(KernelKind kind, Convolution c, const std::vector<Layout>& candidates) {
  for (const Layout layout : candidates) {
    c.weightLayout = layout;
    if (findDirectConvolution(kind, c)) return layout;
  }
  c.weightLayout = stripWeightLayout(kind);
  return fitsStrips(kind, c) ? c.weightLayout : Layout::plain;
}

// oneDNN (2.6.3 and 3.7.2 alike) sums a weight gradient one float after another: over 1024 x 1024
// pixels it keeps four digits, ours all, and ours is faster from 32 x 32 on. Groups would leave our
// matrices half empty, and few channels few matrices to share among the threads; but where four
// blocks of an image are over 2 GiB oneDNN's addresses overflow (2.6.3).
bool prefersBlocks(KernelKind kind, const Convolution& c, int threads) {
  if (kind != KernelKind::convolutionBackwardWeights) return false;
  constexpr std::int64_t worthwhile = 32 * 32, overflowing = std::int64_t{1} << 23;
  const std::int64_t block = channelBlock(c.destinationLayout), in = roundUp(c.inChannels, block) / block;
  const std::int64_t matrices = roundUp(c.outChannels, block) / block * in * c.kernelHeight * c.kernelWidth;
  if (std::max(c.inHeight * c.inWidth, c.outHeight * c.outWidth) >= overflowing) return true;
  return c.groups == 1 && c.batch * c.outHeight * c.outWidth >= worthwhile && matrices >= threads;
}

std::optional<Recipe> findRecipe(KernelKind kind, const Convolution& c, int threads) {
  return prefersBlocks(kind, c, threads) ? std::nullopt : findDirectConvolution(kind, c);
}

void requireOurs(const Convolution& c) {
  if (c.algorithm >= cudnnAlgorithms)
    throw Failure("the cpu device convolves by algorithm 0 or 1, not by cuDNN's, " + std::to_string(c.algorithm));
  for (const Layout layout : {c.sourceLayout, c.destinationLayout, c.weightLayout})
    if (layout == Layout::nhwc || layout == Layout::ohwi)
      throw Failure(std::string("the cpu device has no convolution in layout ") + layoutInfo(layout).name);
}

}  // namespace

std::size_t convolutionScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  requireOurs(c);
  if (c.algorithm == winogradAlgorithm) return winogradScratchBytes(kind, c, threads);
  const std::optional<Recipe> recipe = findRecipe(kind, c, threads);
  if (recipe) return recipe->scratchBytes();
  return fitsStrips(kind, c) ? 0 : blockConvolutionScratchBytes(kind, c, threads);
}

Implementation compileConvolution(KernelKind kind, const Convolution& c, int threads) {
  requireOurs(c);
  if (c.algorithm == winogradAlgorithm) return {compileWinograd(kind, c, threads), "winograd"};
  const std::optional<Recipe> recipe = findRecipe(kind, c, threads);
  if (recipe) return {compileDirectConvolution(kind, c, *recipe), recipe->name()};
  if (fitsStrips(kind, c)) return {compileStripConvolution(kind, c, threads), "strips"};
  return {compileBlockConvolution(kind, c, threads), "blocks"};
}

Device::WeightLayouts convolutionWeightLayouts(const Convolution& given) {
  const bool wide = machineBlock() == 16;
  const Layout blocked = wide ? Layout::nChw16c : Layout::nChw8c;
  Convolution c = given;
  c.destinationLayout = blocked;
  const Layout depthwise = wide ? Layout::Goihw16g : Layout::Goihw8g;
  const Layout forward = firstSupported(KernelKind::convolutionForward, c,
                                        {wide ? Layout::OIhw16i16o : Layout::OIhw8i8o, wide ? Layout::Ohwi16o : Layout::Ohwi8o, depthwise});
  c.sourceLayout = blocked;
  const Layout backwardData =
      firstSupported(KernelKind::convolutionBackwardData, c,
                     {wide ? Layout::IOhw16o16i : Layout::IOhw8o8i, wide ? Layout::OIhw16o16i : Layout::OIhw8o8i, depthwise});
  return {forward, backwardData};
}

}  // namespace tilefold::cpu
