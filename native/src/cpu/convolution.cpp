#include "convolution.hpp"

#include "convolution_blocks.hpp"
#include "convolution_direct.hpp"

namespace tilefold::cpu {
namespace {

Layout firstSupported(KernelKind kind, Convolution c, const std::vector<Layout>& candidates) {
  for (const Layout layout : candidates) {
    c.weightLayout = layout;
    if (findDirectConvolution(kind, c)) return layout;
  }
  return Layout::plain;
}

// oneDNN sums a weight gradient one float after another: over 1024 x 1024 pixels it keeps four digits, ours all, and ours is faster
// from 32 x 32 on. Groups would leave our matrices half empty, and few channels few matrices to share among the threads.
bool prefersBlocks(KernelKind kind, const Convolution& c, int threads) {
  if (kind != KernelKind::convolutionBackwardWeights || c.groups > 1) return false;
  const std::int64_t block = channelBlock(c.destinationLayout),
                     squares = roundUp(c.outChannels, block) / block * (roundUp(c.inChannels, block) / block);
  return c.batch * c.outHeight * c.outWidth >= 1024 && squares * c.kernelHeight * c.kernelWidth >= threads;
}

std::optional<Recipe> findRecipe(KernelKind kind, const Convolution& c, int threads) {
  return prefersBlocks(kind, c, threads) ? std::nullopt : findDirectConvolution(kind, c);
}

}  // namespace

std::size_t convolutionScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  const std::optional<Recipe> recipe = findRecipe(kind, c, threads);
  return recipe ? recipe->scratchBytes() : blockConvolutionScratchBytes(kind, c, threads);
}

Implementation compileConvolution(KernelKind kind, const Convolution& c, int threads) {
  const std::optional<Recipe> recipe = findRecipe(kind, c, threads);
  if (recipe) return {compileDirectConvolution(kind, c, *recipe), recipe->name()};
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
