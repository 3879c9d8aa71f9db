#include "direct.hpp"

#include <cstring>
#include <memory>

#include "../pointwise/bias.hpp"
#include "../pointwise/pointwise.hpp"
#include "../processor/processor.hpp"

namespace tilefold::cpu {
namespace {

template <class T>
constexpr DataType dataType = std::is_same_v<T, Bfloat16> ? DataType::bf16 : DataType::f32;

// Gradients of weights are float.
template <class T>
std::optional<ConvolutionDescriptors> describe(KernelKind kind, const Convolution& c) {
  const DataType type = dataType<T>;
  const std::optional<Descriptor> weights = weightDescriptor(kind == KernelKind::convolutionBackwardWeights ? DataType::f32 : type, c);
  if (!weights) return std::nullopt;
  return ConvolutionDescriptors{activationDescriptor(type, c.sourceLayout, c.batch, c.inChannels, c.inHeight, c.inWidth),
                                *weights,
                                vectorDescriptor(roundUp(c.outChannels, channelBlock(c.destinationLayout))),
                                activationDescriptor(type, c.destinationLayout, c.batch, c.outChannels, c.outHeight, c.outWidth),
                                {c.strideHeight, c.strideWidth},
                                {c.dilationHeight, c.dilationWidth},
                                {c.padTop, c.padLeft},
                                {c.padBottom, c.padRight}};
}

// The bias of padded channels is zero, and a Program holds no padding of it; nor does every
// convolution have one.
class PaddedBias {
 public:
  explicit PaddedBias(const Convolution& c)
      : count_(static_cast<std::size_t>(c.outChannels)),
        padded_(static_cast<std::size_t>(roundUp(c.outChannels, channelBlock(c.destinationLayout))), 0.0F) {}
  float* read(float* bias) {
    if (bias == nullptr) {
      std::fill(padded_.begin(), padded_.end(), 0.0F);
      return padded_.data();
    }
    if (count_ == padded_.size()) return bias;
    std::copy(bias, bias + count_, padded_.begin());
    return padded_.data();
  }

 private:
  std::size_t count_;
  std::vector<float> padded_;
};

// Where oneDNN counts the elements that one image's kernel reads in 32 bits, it divides by what it
// counted when it looks for a forward kernel.
bool countsToZero(const Convolution& c) {
  if (!countsIn32Bits) return false;
  constexpr std::int64_t range = std::int64_t{1} << 32;
  const std::int64_t channels = roundUp(c.inChannels, channelBlock(c.sourceLayout)) / c.groups;
  const std::int64_t rows = (c.inHeight + c.strideHeight - 1) / c.strideHeight, columns = (c.inWidth + c.strideWidth - 1) / c.strideWidth;
  return channels * rows * columns % range == 0;
}

// oneDNN (2.6.3) sorts a row of bf16 by the places of its pixels in a stride, and reads those
// places of which a shorter row has none too: whatever lies there.
template <class T>
bool readsUnwritten(KernelKind kind, const Convolution& c) {
  return std::is_same_v<T, Bfloat16> && kind == KernelKind::convolutionBackwardWeights && c.inWidth < c.strideWidth;
}

}  // namespace

template <class T>
std::optional<Recipe> findDirectConvolution(KernelKind kind, const Convolution& c) {
  if (std::is_same_v<T, Bfloat16> && !multipliesBf16()) return std::nullopt;
  if (kind == KernelKind::convolutionForward && countsToZero(c)) return std::nullopt;
  if (readsUnwritten<T>(kind, c)) return std::nullopt;
  try {
    const std::optional<ConvolutionDescriptors> descriptors = describe<T>(kind, c);
    return descriptors ? Recipe::find(kind, *descriptors) : std::nullopt;
  } catch (const dnnl::error&) {
    return std::nullopt;  // a shape that the library refuses; our own kernels take it
  }
}

template <class T>
Launch compileDirectConvolution(KernelKind kind, const Convolution& c, const Recipe& recipe) {
  return guarded("convolution", [&]() -> Launch {
    const ConvolutionDescriptors o = *describe<T>(kind, c);
    const Descriptor scratch = recipe.description().scratchpad_desc();
    if (kind == KernelKind::convolutionBackwardData) {
      const auto primitive = std::make_shared<Primitive>(recipe, std::vector<std::pair<int, Descriptor>>{{DNNL_ARG_DIFF_DST, o.destination},
                                                                                                         {DNNL_ARG_WEIGHTS, o.weights},
                                                                                                         {DNNL_ARG_DIFF_SRC, o.source},
                                                                                                         {DNNL_ARG_SCRATCHPAD, scratch}});
      return [primitive](const std::vector<Operand>& operands, const StepParameters&) {
        primitive->launch({operands[0].address, operands[1].address, operands[2].address, operands[3].address});
      };
    }
    if (kind == KernelKind::convolutionForward) {
      const auto bias = std::make_shared<PaddedBias>(c);
      const auto primitive = std::make_shared<Primitive>(recipe, std::vector<std::pair<int, Descriptor>>{{DNNL_ARG_SRC, o.source},
                                                                                                         {DNNL_ARG_WEIGHTS, o.weights},
                                                                                                         {DNNL_ARG_BIAS, o.bias},
                                                                                                         {DNNL_ARG_DST, o.destination},
                                                                                                         {DNNL_ARG_SCRATCHPAD, scratch}});
      const std::int64_t outputs = activationElements(c.destinationLayout, c.batch, c.outChannels, c.outHeight, c.outWidth);
      return [=](const std::vector<Operand>& operands, const StepParameters&) {
        primitive->launch(
            {operands[0].address, operands[1].address, bias->read(elements(operands, 2)), operands[3].address, operands[4].address});
        // Not as oneDNN's post-operation: its relu takes NaN for 0, and hides that training
        // diverges.
        if (c.slope != 1) rectifyAll(elements<T>(operands, 3), elements<T>(operands, 3), outputs, static_cast<float>(c.slope));
      };
    }
    const auto primitive = std::make_shared<Primitive>(recipe, std::vector<std::pair<int, Descriptor>>{{DNNL_ARG_SRC, o.source},
                                                                                                       {DNNL_ARG_DIFF_DST, o.destination},
                                                                                                       {DNNL_ARG_DIFF_WEIGHTS, o.weights},
                                                                                                       {DNNL_ARG_SCRATCHPAD, scratch}});
    // oneDNN sums the bias's gradient one float after another: over 1500 x 1500 pixels that keeps
    // two digits.
    const Launch biasGradient = sumBiasOf<T>(c);
    return [primitive, biasGradient](const std::vector<Operand>& operands, const StepParameters& step) {
      primitive->launch({operands[0].address, operands[1].address, operands[2].address, operands[4].address});
      if (operands[3].address != nullptr) biasGradient({operands[1], operands[3]}, step);
    };
  });
}

template std::optional<Recipe> findDirectConvolution<float>(KernelKind, const Convolution&);
template std::optional<Recipe> findDirectConvolution<Bfloat16>(KernelKind, const Convolution&);
template Launch compileDirectConvolution<float>(KernelKind, const Convolution&, const Recipe&);
template Launch compileDirectConvolution<Bfloat16>(KernelKind, const Convolution&, const Recipe&);

}  // namespace tilefold::cpu
