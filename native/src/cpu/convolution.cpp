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

}  // namespace

std::size_t convolutionScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  const std::optional<Recipe> recipe = findDirectConvolution(kind, c);
  return recipe ? recipe->scratchBytes() : blockConvolutionScratchBytes(kind, c, threads);
}

Implementation compileConvolution(KernelKind kind, const Convolution& c, int threads) {
  const std::optional<Recipe> recipe = findDirectConvolution(kind, c);
  if (recipe) return {compileDirectConvolution(kind, c, *recipe), recipe->name()};
  return {compileBlockConvolution(kind, c, threads), "blocks"};
}

Device::WeightLayouts convolutionWeightLayouts(const Convolution& given) {
  const bool wide = machineBlock() == 16;
  const Layout blocked = wide ? Layout::nChw16c : Layout::nChw8c;
  Convolution c = given;
  c.destinationLayout = blocked;
  const Layout depthwise = wide ? Layout::Goihw16g : Layout::Goihw8g;
  const Layout forward = firstSupported(
      KernelKind::convolutionForward, c, {wide ? Layout::OIhw16i16o : Layout::OIhw8i8o, wide ? Layout::Ohwi16o : Layout::Ohwi8o, depthwise});
  c.sourceLayout = blocked;
  const Layout backwardData = firstSupported(
      KernelKind::convolutionBackwardData, c, {wide ? Layout::IOhw16o16i : Layout::IOhw8o8i, wide ? Layout::OIhw16o16i : Layout::OIhw8o8i, depthwise});
  return {forward, backwardData};
}

}  // namespace tilefold::cpu
