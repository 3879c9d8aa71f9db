#include "convolution.hpp"

#include "../kernels/bias.hpp"
#include "../kernels/bias_gradient.hpp"
#include "../kernels/copy_rows.hpp"
#include "../kernels/max_pool.hpp"
#include "../launching/fused_kernel.hpp"
#include "directions.hpp"
#include "product.hpp"
#include "rotated_weights.hpp"
#include "scratch.hpp"

namespace tilefold::cuda {
namespace {

// Of activations of type T.
template <class Direction, class T>
class ConvolutionKernel : public FusedKernel {
 public:
  ConvolutionKernel(const Convolution& c, const Context& context)
      : c_(c),
        context_(context),
        product_(makeProduct(Direction::kind, c, context)),
        scratch_(Direction::kind, c, context, product_->copy(), product_->workspaceBytes(), product_->writesFloat()) {}

  void launch(const std::vector<Operand>& operands, const StepParameters&) override {
    launchProduct(operands);
    if constexpr (Direction::biasAt >= 0)
      if (!product_->finishes()) finish(tensor<float>(operands, Direction::biasAt), tensor<T>(operands, Direction::destinationAt));
  }

  // The gradient of a bias with the rectifier that made the gradients that it sums, and the max
  // pool behind that.
  std::function<void()> with(const std::vector<WaitingLaunch>& before, const std::vector<Operand>& operands) override {
    if constexpr (isGradientOfWeights)
      return gradientWith(before, operands);
    else
      return nullptr;
  }

 private:
  static constexpr bool isGradientOfWeights = std::is_same_v<Direction, BackwardWeightsConvolution>;
  // It is float32, but cuDNN writes it as it reads the others.
  static constexpr bool isNarrow = isGradientOfWeights && !std::is_same_v<T, float>;

  std::function<void()> gradientWith(const std::vector<WaitingLaunch>& before, const std::vector<Operand>& operands) {
    const auto& [kernel, ofRectifier] = before.back();
    if (kernel->kind != KernelKind::rectifierBackward) return nullptr;
    const auto rectifier = decode<Rectifier>(*kernel);
    const BiasedTile tile = destinationTile();
    const std::int64_t count = tile.batch * tile.channels * tile.pixels;
    T *const gradient = tensor<T>(operands, Direction::destinationAt), *const output = tensor<T>(ofRectifier, 0);
    float* const bias = tensor<float>(operands, Direction::biasAt);
    if (bias == nullptr || rectifier.slope != 0 || rectifier.count != count || tensor<T>(ofRectifier, 2) != gradient) return nullptr;
    // What those before read may end with their launch.
    const auto isFree = [&](const void* read, std::int64_t bytes) {
      return read == gradient || !overlap(bias, tile.channels * static_cast<std::int64_t>(sizeof(float)), read, bytes);
    };
    const auto tensorBytes = static_cast<std::int64_t>(sizeof(T));
    if (!isFree(output, count * tensorBytes)) return nullptr;
    const auto behind = [&](const auto& passing) -> std::function<void()> {
      return [this, tile, output, passing, gradient, bias, operands] {
        rectifiedBiasGradient<T>(context_, tile, output, passing, gradient, bias);
        launchProduct(operands);
      };
    };
    if (before.size() == 1) {
      T* const passing = tensor<T>(ofRectifier, 1);
      return isFree(passing, count * tensorBytes) ? behind(passing) : nullptr;
    }
    const auto& [poolKernel, ofPool] = before.front();
    if (poolKernel->kind != KernelKind::maxPoolBackward) return nullptr;
    const auto pool = decode<Pool>(*poolKernel);
    if (!tilesInput(pool) || !channelsLast(pool) || pool.inChannels != tile.channels || tile.layout != Layout::nhwc) return nullptr;
    // Pools of other channels add to 0, which makes -0 to 0.
    if (tile.channels % (tensorAlignment / tensorBytes) != 0) return nullptr;
    const PooledGradient<T> pooled{tensor<T>(ofPool, 0), tensor<std::uint8_t>(ofPool, 1), pool.inWidth};
    return isFree(pooled.gradient, count / 4 * tensorBytes) && isFree(pooled.winners, count / 4) ? behind(pooled) : nullptr;
  }

  void launchProduct(const std::vector<Operand>& operands) {
    std::byte* const scratch = aligned(operands[Direction::scratchAt].address);
    T* const source = tensor<T>(operands, Direction::sourceAt);
    T* const copied = reinterpret_cast<T*>(scratch);
    const std::optional<PadBox>& copy = product_->copy();
    const bool widens = isNarrow && !product_->writesFloat();
    float* bias = nullptr;
    if constexpr (Direction::biasAt >= 0) bias = tensor<float>(operands, Direction::biasAt);
    const ConvolutionTensors tensors{copy ? copied : source,
                                     widens ? scratch + scratch_.gradientAt : operands[Direction::weightsAt].address,
                                     operands[Direction::destinationAt].address,
                                     scratch + scratch_.workspaceAt,
                                     scratch_.workspaceBytes,
                                     bias};
    requireAligned(tensors);
    if (copy && Direction::readsSource) padBox(context_.compute, *copy, source, copied);
    product_->launch(tensors);
    if (copy && !Direction::readsSource) cropBox(context_.compute, *copy, copied, source);
    if (widens)
      copyRows(context_, "widening a gradient", {{1, 1, 1, weightCount(c_)}, {}, {}, false}, static_cast<const T*>(tensors.weights),
               tensor<float>(operands, Direction::weightsAt));
  }

  template <class Element>
  static Element* tensor(const std::vector<Operand>& operands, std::size_t i) {
    return reinterpret_cast<Element*>(operands[i].address);
  }

  static void requireAligned(const ConvolutionTensors& tensors) {
    for (const void* address : {tensors.source, tensors.weights, tensors.destination})
      if (reinterpret_cast<std::uintptr_t>(address) % tensorAlignment != 0)
        throw Failure("cuDNN's tensors begin at multiples of 16 bytes, but a convolution was given one that does not");
  }

  BiasedTile destinationTile() const { return {c_.destinationLayout, c_.batch, c_.outChannels, c_.outHeight * c_.outWidth}; }

  void finish(float* bias, T* destination) const {
    const BiasedTile t = destinationTile();
    if constexpr (std::is_same_v<Direction, ForwardConvolution>)
      addBiasAndSlope(context_.compute, t.layout, t.batch, t.channels, t.pixels, bias, c_.slope, destination);
    else if (bias != nullptr)
      biasGradient<T>(context_, t, destination, bias);
  }

  Convolution c_;
  Context context_;
  std::unique_ptr<ConvolutionProduct> product_;
  Scratch scratch_;
};

// convolutionBackwardData as a forward convolution.
template <class T>
class RotatedConvolution : public CompiledKernel {
 public:
  RotatedConvolution(const Convolution& c, const Context& context) : c_(c), context_(context), forward_(rotate180(c), context) {}

  void launch(const std::vector<Operand>& operands, const StepParameters& step) override {
    using Data = BackwardDataConvolution;
    std::byte* const weights = aligned(operands[Data::scratchAt].address);
    rotateWeights(context_, c_, reinterpret_cast<const T*>(operands[Data::weightsAt].address), reinterpret_cast<T*>(weights));
    const Operand scratch{weights + inParts(weightBytes(c_, context_)), 0};
    forward_.launch({operands[Data::destinationAt], {weights, 0}, {}, operands[Data::sourceAt], scratch}, step);
  }

 private:
  Convolution c_;
  Context context_;
  ConvolutionKernel<ForwardConvolution, T> forward_;
};

template <class T>
std::unique_ptr<CompiledKernel> compiled(KernelKind kind, const Convolution& c, const Context& context) {
  if (isRotated(kind, c)) return std::make_unique<RotatedConvolution<T>>(c, context);
  return withDirection(kind, [&](auto direction) -> std::unique_ptr<CompiledKernel> {
    return std::make_unique<ConvolutionKernel<decltype(direction), T>>(c, context);
  });
}

}  // namespace

std::unique_ptr<CompiledKernel> compileConvolution(KernelKind kind, const Convolution& c, const Context& context) {
  return context.precision == Precision::bf16 ? compiled<Bfloat16>(kind, c, context) : compiled<float>(kind, c, context);
}

}  // namespace tilefold::cuda
