#include "convolution.hpp"

#include <algorithm>

#include "bias.hpp"
#include "convolution_directions.hpp"
#include "copy_rows.hpp"
#include "rotated_weights.hpp"

namespace tilefold::cuda {
namespace {

constexpr std::size_t partAlignment = 256, tensorAlignment = 16;  // bytes

std::byte* aligned(std::byte* scratch) {
  return scratch + (partAlignment - reinterpret_cast<std::uintptr_t>(scratch) % partAlignment) % partAlignment;
}

// Where the parts of a kernel's scratch begin, from its first multiple of 256 bytes on.
struct Scratch {
  Scratch(std::size_t copyBytes, std::size_t gradientBytes, std::size_t workspace, std::size_t partialBytes)
      : gradientAt(rounded(copyBytes)),
        workspaceAt(gradientAt + rounded(gradientBytes)),
        workspaceBytes(workspace),
        partialsAt(workspaceAt + rounded(workspace)) {
    const std::size_t end = partialsAt + rounded(partialBytes);
    bytes = end == 0 ? 0 : end + partAlignment;
  }
  static std::size_t rounded(std::size_t bytes) { return (bytes + partAlignment - 1) / partAlignment * partAlignment; }

  // Where each part begins; the copy at 0.
  std::size_t gradientAt, workspaceAt, workspaceBytes, partialsAt, bytes = 0;
};

std::int64_t weightCount(const Convolution& c) {
  return weightElements(c.weightLayout, c.outChannels, c.inChannels / c.groups, c.kernelHeight, c.kernelWidth, c.groups);
}

// Of the weights that a product reads, and of the gradient as cuDNN writes it.
std::size_t weightBytes(const Convolution& c, const Context& context) {
  return static_cast<std::size_t>(weightCount(c) * activationBytes(context.precision));
}

template <class Direction>
Scratch scratchOf(const Convolution& c, const Context& context, const ConvolutionDescriptors& descriptors, std::size_t workspaceBytes) {
  if constexpr (std::is_same_v<Direction, BackwardWeightsConvolution>) {
    const std::int64_t partials = biasGradientPartialBytes(c.destinationLayout, c.batch, c.outChannels, c.outHeight * c.outWidth);
    const std::size_t gradient = context.precision == Precision::bf16 ? weightBytes(c, context) : 0;
    return {descriptors.copyBytes(), gradient, workspaceBytes, static_cast<std::size_t>(partials)};
  }
  return {descriptors.copyBytes(), 0, workspaceBytes, 0};
}

// The algorithm of cuDNN that the field names, and its workspace.
template <class Direction>
struct Choice {
  using Algorithm = typename Direction::Algorithm;

  Choice(const Convolution& c, const Libraries& libraries, const ConvolutionDescriptors& descriptors) {
    if (c.algorithm == 0) {
      for (const Algorithm direct : Direction::direct) {
        algorithm = direct;
        status = Direction::workspace(libraries, descriptors, algorithm, &workspaceBytes);
        if (status == cudnn::Status::success) break;
      }
    } else {
      algorithm = static_cast<Algorithm>(c.algorithm - cudnnAlgorithms);
      if (c.algorithm < cudnnAlgorithms || algorithm >= Algorithm::count || Direction::atomic(algorithm))
        throw Failure("the cuda device has no algorithm " + std::to_string(c.algorithm) + " for this direction of a convolution");
      status = Direction::workspace(libraries, descriptors, algorithm, &workspaceBytes);
    }
    libraries.check(status, "finding an algorithm for this convolution");
  }

  Algorithm algorithm{};
  cudnn::Status status{};
  std::size_t workspaceBytes = 0;
};

// Of activations of type T.
template <class Direction, class T>
class ConvolutionKernel : public CompiledKernel {
 public:
  ConvolutionKernel(const Convolution& c, const Context& context)
      : c_(c),
        context_(context),
        descriptors_(c, context),
        choice_(c, *context.libraries, descriptors_),
        scratch_(scratchOf<Direction>(c, context, descriptors_, choice_.workspaceBytes)) {}

  void launch(const std::vector<Operand>& operands, const StepParameters&) override {
    std::byte* const scratch = aligned(operands[Direction::scratchAt].address);
    T* const source = tensor<T>(operands, Direction::sourceAt);
    T* const copied = reinterpret_cast<T*>(scratch);
    const std::optional<PadBox>& copy = descriptors_.copy();
    const ConvolutionTensors tensors{copy ? copied : source,
                                     widens ? scratch + scratch_.gradientAt : operands[Direction::weightsAt].address,
                                     operands[Direction::destinationAt].address, scratch + scratch_.workspaceAt, scratch_.workspaceBytes};
    requireAligned(tensors);
    if (copy && Direction::readsSource) padBox(context_.compute, *copy, source, copied);
    context_.libraries->check(Direction::launch(*context_.libraries, descriptors_, choice_.algorithm, tensors), "a convolution");
    if (copy && !Direction::readsSource) cropBox(context_.compute, *copy, copied, source);
    if constexpr (widens)
      copyRows(context_, "widening a gradient", {{1, 1, 1, weightCount(c_)}, {}, {}, false}, static_cast<const T*>(tensors.weights),
               tensor<float>(operands, Direction::weightsAt));
    if constexpr (Direction::biasAt >= 0)
      finish(tensor<float>(operands, Direction::biasAt), tensor<T>(operands, Direction::destinationAt), scratch + scratch_.partialsAt);
  }

 private:
  // The gradient of weights is float32, but cuDNN writes it as it reads the others.
  static constexpr bool widens = std::is_same_v<Direction, BackwardWeightsConvolution> && !std::is_same_v<T, float>;

  template <class Element>
  static Element* tensor(const std::vector<Operand>& operands, std::size_t i) {
    return reinterpret_cast<Element*>(operands[i].address);
  }

  static void requireAligned(const ConvolutionTensors& tensors) {
    for (const void* address : {tensors.source, tensors.weights, tensors.destination})
      if (reinterpret_cast<std::uintptr_t>(address) % tensorAlignment != 0)
        throw Failure("cuDNN's tensors begin at multiples of 16 bytes, but a convolution was given one that does not");
  }

  void finish(float* bias, T* destination, std::byte* partials) const {
    const std::int64_t pixels = c_.outHeight * c_.outWidth;
    if constexpr (std::is_same_v<Direction, ForwardConvolution>)
      addBiasAndSlope(context_.compute, c_.destinationLayout, c_.batch, c_.outChannels, pixels, bias, c_.slope, destination);
    else if (bias != nullptr)
      biasGradient(context_.compute, c_.destinationLayout, c_.batch, c_.outChannels, pixels, destination,
                   reinterpret_cast<double*>(partials), bias);
  }

  Convolution c_;
  Context context_;
  ConvolutionDescriptors descriptors_;
  Choice<Direction> choice_;
  Scratch scratch_;
};

bool isRotated(KernelKind kind, const Convolution& c) {
  return kind == KernelKind::convolutionBackwardData && c.algorithm >= rotatedAlgorithms && runsRotated(c);
}

// Of the rotated weights, before the scratch of the forward convolution.
std::size_t rotatedPart(const Convolution& c, const Context& context) { return Scratch::rounded(weightBytes(c, context)); }

std::size_t withRotatedPart(const Convolution& c, const Context& context, std::size_t forwardBytes) {
  return rotatedPart(c, context) + partAlignment + forwardBytes;
}

// convolutionBackwardData as a forward convolution.
template <class T>
class RotatedConvolution : public CompiledKernel {
 public:
  RotatedConvolution(const Convolution& c, const Context& context) : c_(c), context_(context), forward_(rotate180(c), context) {}

  void launch(const std::vector<Operand>& operands, const StepParameters& step) override {
    using Data = BackwardDataConvolution;
    std::byte* const weights = aligned(operands[Data::scratchAt].address);
    rotateWeights(context_, c_, reinterpret_cast<const T*>(operands[Data::weightsAt].address), reinterpret_cast<T*>(weights));
    const Operand scratch{weights + rotatedPart(c_, context_), 0};
    forward_.launch({operands[Data::destinationAt], {weights, 0}, {}, operands[Data::sourceAt], scratch}, step);
  }

 private:
  Convolution c_;
  Context context_;
  ConvolutionKernel<ForwardConvolution, T> forward_;
};

template <class Direction>
std::vector<Algorithm> algorithmsOf(const Convolution& c, const Context& context) {
  using Number = typename Direction::Algorithm;
  const Libraries& libraries = *context.libraries;
  const ConvolutionDescriptors descriptors(c, context);
  // With and without tensor cores.
  std::array<cudnn::Performance<Number>, 2 * static_cast<std::size_t>(Number::count)> results{};
  int count = 0;
  libraries.check(Direction::heuristics(libraries, descriptors, static_cast<int>(results.size()), &count, results.data()),
                  "asking which algorithm is fastest");
  std::vector<Algorithm> found;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const cudnn::Performance<Number>& result = results[i];
    const std::int64_t algorithm = cudnnAlgorithms + static_cast<std::int64_t>(result.algorithm);
    if (result.status != cudnn::Status::success || result.determinism != cudnn::Determinism::deterministic) continue;
    if (Direction::atomic(result.algorithm)) continue;
    if (std::any_of(found.begin(), found.end(), [&](const Algorithm& known) { return known.code == algorithm; })) continue;
    std::size_t bytes = 0;
    if (Direction::workspace(libraries, descriptors, result.algorithm, &bytes) != cudnn::Status::success) continue;
    found.push_back({algorithm, scratchOf<Direction>(c, context, descriptors, bytes).bytes});
  }
  return found;
}

// Of the forward convolution the one that is fastest as the heuristics go, and the first that sums
// products as they stand.
std::vector<Algorithm> rotatedAlgorithmsOf(const Convolution& c, const Context& context) {
  using Number = ForwardConvolution::Algorithm;
  if (!runsRotated(c)) return {};
  std::vector<Algorithm> found;
  bool hasDirect = false;
  for (const Algorithm& one : algorithmsOf<ForwardConvolution>(rotate180(c), context)) {
    const auto number = static_cast<Number>(one.code - cudnnAlgorithms);
    const auto& direct = ForwardConvolution::direct;
    const bool isDirect = std::find(direct.begin(), direct.end(), number) != direct.end();
    // By Fourier transforms they are slower than their place.
    if (number == Number::fft || number == Number::fftTiling || hasDirect || (!isDirect && !found.empty())) continue;
    hasDirect = isDirect;
    found.push_back({one.code - cudnnAlgorithms + rotatedAlgorithms, withRotatedPart(c, context, one.scratchBytes)});
  }
  return found;
}

// body(Direction{}) for the kernel's.
template <class Body>
auto withDirection(KernelKind kind, const Body& body) {
  switch (kind) {
    case KernelKind::convolutionForward:
      return body(ForwardConvolution{});
    case KernelKind::convolutionBackwardData:
      return body(BackwardDataConvolution{});
    case KernelKind::convolutionBackwardWeights:
      return body(BackwardWeightsConvolution{});
    default:
      throw Failure(std::string(kernelInfo(kind).name) + " is no convolution");
  }
}

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

std::size_t convolutionScratchBytes(KernelKind kind, const Convolution& c, const Context& context) {
  if (isRotated(kind, c)) return withRotatedPart(c, context, convolutionScratchBytes(KernelKind::convolutionForward, rotate180(c), context));
  return withDirection(kind, [&](auto direction) {
    const ConvolutionDescriptors descriptors(c, context);
    const Choice<decltype(direction)> choice(c, *context.libraries, descriptors);
    return scratchOf<decltype(direction)>(c, context, descriptors, choice.workspaceBytes).bytes;
  });
}

std::vector<Algorithm> convolutionAlgorithms(KernelKind kind, const Convolution& c, const Context& context) {
  std::vector<Algorithm> found = withDirection(kind, [&](auto direction) { return algorithmsOf<decltype(direction)>(c, context); });
  if (kind != KernelKind::convolutionBackwardData) return found;
  const std::vector<Algorithm> rotatedOnes = rotatedAlgorithmsOf(c, context);
  found.insert(found.end(), rotatedOnes.begin(), rotatedOnes.end());
  return found;
}

}  // namespace tilefold::cuda
