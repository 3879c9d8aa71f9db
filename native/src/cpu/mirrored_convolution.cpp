#include "mirrored_convolution.hpp"

#include "convolution_direct.hpp"
#include "strides.hpp"

namespace tilefold::cpu {
namespace {

// What the kernel needs begins here, as it wants it.
constexpr std::int64_t alignment = 64;

std::int64_t weightBytes(const Convolution& forward) {
  return roundUp(checkedMultiply(weightStrides(forward).elements, sizeof(float)), alignment);
}

Convolution mirror(const Convolution& c) {
  Convolution m = c;
  std::swap(m.inHeight, m.outHeight);
  std::swap(m.inWidth, m.outWidth);
  std::swap(m.sourceLayout, m.destinationLayout);
  const std::int64_t rows = (c.kernelHeight - 1) * c.dilationHeight, columns = (c.kernelWidth - 1) * c.dilationWidth;
  m.padTop = rows - c.padTop;
  m.padBottom = c.inHeight - c.outHeight + c.padTop;
  m.padLeft = columns - c.padLeft;
  m.padRight = c.inWidth - c.outWidth + c.padLeft;
  m.weightLayout = blockedLayout() == Layout::nChw16c ? Layout::Goihw16g : Layout::Goihw8g;
  m.slope = 1;
  return m;
}

}  // namespace

std::size_t MirroredConvolution::scratchBytes() const {
  return static_cast<std::size_t>(weightBytes(forward)) + recipe.scratchBytes();
}

template <class T>
std::optional<MirroredConvolution> findMirroredConvolution(KernelKind kind, const Convolution& c) {
  const bool isDepthwise = c.groups > 1 && c.groups == c.inChannels && c.groups == c.outChannels;
  const bool inBlocks = c.sourceLayout == blockedLayout() && c.destinationLayout == blockedLayout();
  if (kind != KernelKind::convolutionBackwardData || !isDepthwise || !inBlocks || c.strideHeight > 1 || c.strideWidth > 1) return std::nullopt;
  const Convolution forward = mirror(c);
  if (std::min({forward.padTop, forward.padBottom, forward.padLeft, forward.padRight}) < 0) return std::nullopt;
  const std::optional<Recipe> recipe = findDirectConvolution<T>(KernelKind::convolutionForward, forward);
  return recipe ? std::make_optional(MirroredConvolution{forward, *recipe}) : std::nullopt;
}

template <class T>
Launch compileMirroredConvolution(const Convolution& c, const MirroredConvolution& mirrored) {
  const Launch convolve = compileDirectConvolution<T>(KernelKind::convolutionForward, mirrored.forward, mirrored.recipe);
  const WeightStrides from = weightStrides(c), to = weightStrides(mirrored.forward);
  const std::int64_t taps = c.kernelHeight * c.kernelWidth, offset = weightBytes(mirrored.forward);
  return [=](const std::vector<Operand>& operands, const StepParameters& step) {
    const T* weights = elements<const T>(operands, 1);
    T* reversed = elements<T>(operands, 3);
    std::fill_n(reversed, to.elements, T{});
    for (std::int64_t channel = 0; channel < c.groups; ++channel)
      for (std::int64_t tap = 0; tap < taps; ++tap)
        reversed[to.group(channel) + (taps - 1 - tap) * to.tapStride] = weights[from.group(channel) + tap * from.tapStride];
    convolve({operands[0], operands[3], {}, operands[2], {operands[3].address + offset}}, step);
  };
}

#define TILEFOLD_INSTANTIATE(T)                                                                                \
  template std::optional<MirroredConvolution> findMirroredConvolution<T>(KernelKind, const Convolution&);      \
  template Launch compileMirroredConvolution<T>(const Convolution&, const MirroredConvolution&);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
