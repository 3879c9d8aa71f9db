#include "equivalent_convolution.hpp"

#include "../operands/strides.hpp"
#include "direct.hpp"

namespace tilefold::cpu {
namespace {

// What the kernel needs begins here, as it wants it.
constexpr std::int64_t alignment = 64;

std::int64_t weightBytes(const Convolution& c) { return roundUp(checkedMultiply(weightStrides(c).elements, sizeof(float)), alignment); }

bool isOfBlocks(const Convolution& c) {
  return c.groups > 1 && c.inChannels == c.outChannels && c.sourceLayout == blockedLayout() && c.destinationLayout == blockedLayout();
}

// Of paddings that are beyond the kernel's reach there is none.
std::optional<Convolution> mirror(const Convolution& c) {
  if (c.groups != c.inChannels || c.strideHeight > 1 || c.strideWidth > 1) return std::nullopt;
  Convolution m = c;
  std::swap(m.inHeight, m.outHeight);
  std::swap(m.inWidth, m.outWidth);
  m.padTop = (c.kernelHeight - 1) * c.dilationHeight - c.padTop;
  m.padBottom = c.inHeight - c.outHeight + c.padTop;
  m.padLeft = (c.kernelWidth - 1) * c.dilationWidth - c.padLeft;
  m.padRight = c.inWidth - c.outWidth + c.padLeft;
  m.weightLayout = machineBlock() == 16 ? Layout::Goihw16g : Layout::Goihw8g;
  m.slope = 1;
  return std::min({m.padTop, m.padBottom, m.padLeft, m.padRight}) < 0 ? std::nullopt : std::make_optional(m);
}

std::optional<Convolution> regroup(KernelKind kind, const Convolution& c) {
  const std::int64_t block = machineBlock(), ofGroup = c.inChannels / c.groups;
  if (ofGroup == 1 || ofGroup >= block || block % ofGroup != 0 || c.inChannels % block != 0) return std::nullopt;
  Convolution r = c;
  r.groups = c.inChannels / block;
  if (kind == KernelKind::convolutionForward)
    r.weightLayout = block == 16 ? Layout::OIhw16i16o : Layout::OIhw8i8o;
  else
    r.weightLayout = block == 16 ? Layout::IOhw16o16i : Layout::IOhw8o8i;
  return r;
}

template <class T>
std::optional<EquivalentConvolution> withRecipe(KernelKind kind, const std::optional<Convolution>& other) {
  if (!other) return std::nullopt;
  const std::optional<Recipe> recipe = findDirectConvolution<T>(kind, *other);
  return recipe ? std::make_optional(EquivalentConvolution{kind, *other, *recipe}) : std::nullopt;
}

}  // namespace

std::size_t EquivalentConvolution::scratchBytes() const { return static_cast<std::size_t>(weightBytes(convolution)) + recipe.scratchBytes(); }

template <class T>
std::optional<EquivalentConvolution> findEquivalent(KernelKind kind, const Convolution& c) {
  if (!isOfBlocks(c) || kind == KernelKind::convolutionBackwardWeights) return std::nullopt;
  if (kind == KernelKind::convolutionBackwardData)
    if (const auto mirrored = withRecipe<T>(KernelKind::convolutionForward, mirror(c))) return mirrored;
  return std::is_same_v<T, float> ? withRecipe<T>(kind, regroup(kind, c)) : std::nullopt;
}

template <class T>
Launch compileEquivalent(KernelKind kind, const Convolution& c, const EquivalentConvolution& other) {
  const Launch convolve = compileDirectConvolution<T>(other.kind, other.convolution, other.recipe);
  const WeightStrides from = weightStrides(c), to = weightStrides(other.convolution);
  const std::int64_t taps = c.kernelHeight * c.kernelWidth, ofGroup = c.inChannels / c.groups;
  const std::int64_t ofOther = c.inChannels / other.convolution.groups, offset = weightBytes(other.convolution);
  const bool isMirrored = other.kind != kind;
  return [=](const std::vector<Operand>& operands, const StepParameters& step) {
    const T* weights = elements<const T>(operands, 1);
    const Operand scratch = operands.back();
    T* others = elements<T>(operands, operands.size() - 1);
    std::fill_n(others, to.elements, T{});
    for (std::int64_t group = 0; group < c.groups; ++group) {
      const std::int64_t first = group * ofGroup % ofOther;
      T* there = others + to.group(group * ofGroup / ofOther);
      for (std::int64_t out = 0; out < ofGroup; ++out)
        for (std::int64_t in = 0; in < ofGroup; ++in)
          for (std::int64_t tap = 0; tap < taps; ++tap)
            there[to.out(first + out) + to.in(first + in) + (isMirrored ? taps - 1 - tap : tap) * to.tapStride] =
                weights[from.group(group) + from.out(out) + from.in(in) + tap * from.tapStride];
    }
    std::vector<Operand> ofOthers = operands;
    if (isMirrored) ofOthers.insert(ofOthers.begin() + 2, Operand{});  // no bias
    ofOthers[1] = scratch;
    ofOthers.back().address += offset;
    convolve(ofOthers, step);
  };
}

#define TILEFOLD_INSTANTIATE(T)                                                                      \
  template std::optional<EquivalentConvolution> findEquivalent<T>(KernelKind, const Convolution&);    \
  template Launch compileEquivalent<T>(KernelKind, const Convolution&, const EquivalentConvolution&);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
