#include "cpu_device.hpp"

#include <omp.h>

#include <map>

#include "../reference/device.hpp"
#include "../reference/pooling.hpp"
#include "convolution/convolution.hpp"
#include "convolution/normalised_convolution.hpp"
#include "convolution/onednn.hpp"
#include "linear.hpp"
#include "movement/copy_box.hpp"
#include "movement/copy_channels.hpp"
#include "movement/weights.hpp"
#include "normalisation/normalisation.hpp"
#include "operands/strides.hpp"
#include "pixel_loss.hpp"
#include "pointwise/bias.hpp"
#include "pointwise/clipping.hpp"
#include "pointwise/dropout.hpp"
#include "pointwise/expression.hpp"
#include "pointwise/pointwise.hpp"
#include "pooling/average_pool.hpp"
#include "pooling/max_pool.hpp"
#include "pooling/resampling.hpp"
#include "processor/processor.hpp"

namespace tilefold {
namespace {

class CpuKernel : public CompiledKernel {
 public:
  CpuKernel(cpu::Launch launch, int threads) : launch_(std::move(launch)), threads_(threads) {}
  // OpenMP's number of threads belongs to the calling thread, which need not be the one that
  // compiled.
  void launch(const std::vector<Operand>& operands, const StepParameters& step) override { launchWith(threads_, operands, step); }
  // The compute engine keeps its cores.
  void load(const std::vector<Operand>& operands, const StepParameters& step) override { launchWith(1, operands, step); }

 private:
  void launchWith(int threads, const std::vector<Operand>& operands, const StepParameters& step) {
    omp_set_num_threads(threads);
    cpu::guarded("launch", [&] { launch_(operands, step); });
  }

  cpu::Launch launch_;
  int threads_;
};

// A loadImage, which is the reference's.
class CpuLoad : public CpuKernel {
 public:
  CpuLoad(const std::shared_ptr<CompiledKernel>& reference, int threads)
      : CpuKernel([reference](const std::vector<Operand>& operands, const StepParameters& step) { reference->launch(operands, step); }, threads),
        reference_(reference),
        threads_(threads) {}
  bool loadUnless(std::optional<PlainTile>& before, const std::vector<Operand>& operands, const StepParameters& step) override {
    omp_set_num_threads(threads_);
    return reference_->loadUnless(before, operands, step);
  }

 private:
  std::shared_ptr<CompiledKernel> reference_;
  int threads_;
};

template <class T>
cpu::Implementation referenceImplementation(const Kernel& kernel) {
  const std::shared_ptr<CompiledKernel> compiled = reference::compile<T>(kernel);
  return {[compiled](const std::vector<Operand>& operands, const StepParameters& step) { compiled->launch(operands, step); }, "reference"};
}

// What our loops do in blocked layouts; the reference's serve the plain one.
template <class FieldsOfKind, class T, class Compile>
cpu::Implementation inBlocks(const Kernel& kernel, const Compile& compile) {
  const auto fields = decode<FieldsOfKind>(kernel);
  if (channelBlock(fields.layout) == 1) return referenceImplementation<T>(kernel);
  return {compile(fields), "blocked loops"};
}

template <class T>
cpu::Implementation implement(const Kernel& kernel, int threads) {
  omp_set_num_threads(threads);
  switch (kernel.kind) {
    case KernelKind::convolutionForward:
    case KernelKind::convolutionBackwardData:
    case KernelKind::convolutionBackwardWeights:
      return cpu::compileConvolution<T>(kernel.kind, decode<Convolution>(kernel), threads);
    case KernelKind::maxPoolForward:
    case KernelKind::maxPoolBackward:
      return cpu::compileMaxPool<T>(kernel.kind, decode<Pool>(kernel));
    case KernelKind::averagePoolForward:
      return inBlocks<AveragePool, T>(kernel, cpu::averagePoolForward<T>);
    case KernelKind::averagePoolBackward:
      return inBlocks<AveragePool, T>(kernel, cpu::averagePoolBackward<T>);
    case KernelKind::globalAveragePoolForward:
      return inBlocks<GlobalAveragePool, T>(kernel, cpu::globalAveragePoolForward<T>);
    case KernelKind::globalAveragePoolBackward:
      return inBlocks<GlobalAveragePool, T>(kernel, cpu::globalAveragePoolBackward<T>);
    case KernelKind::reorderWeights:
      return {cpu::reorderWeights(decode<WeightReorder>(kernel)), "tilefold"};
    case KernelKind::sliceWeights:
      return {cpu::sliceWeights(decode<WeightSlice>(kernel)), "tilefold"};
    case KernelKind::rectifierForward:
      return {cpu::rectifierForward<T>(decode<Rectifier>(kernel)), "tilefold"};
    case KernelKind::rectifierBackward:
      return {cpu::rectifierBackward<T>(decode<Rectifier>(kernel)), "tilefold"};
    case KernelKind::addBias:
      return inBlocks<Tile, T>(kernel, cpu::addBias<T>);
    case KernelKind::sumBias:
      return inBlocks<Tile, T>(kernel, cpu::sumBias<T>);
    case KernelKind::dropout:
      return inBlocks<Dropout, T>(kernel, cpu::dropout<T>);
    case KernelKind::linearForward:
      return {cpu::linearForward<T>(decode<Linear>(kernel)), "tilefold"};
    case KernelKind::linearBackwardData:
      return {cpu::linearBackwardData<T>(decode<Linear>(kernel)), "tilefold"};
    case KernelKind::linearBackwardWeights:
      return {cpu::linearBackwardWeights<T>(decode<Linear>(kernel)), "tilefold"};
    case KernelKind::pointwiseForward:
      return {cpu::pointwiseForward<T>(decode<Pointwise>(kernel)), "tilefold"};
    case KernelKind::pointwiseBackward:
      return {cpu::pointwiseBackward<T>(decode<Pointwise>(kernel)), "tilefold"};
    case KernelKind::pointwiseSum:
      return {cpu::pointwiseSum<T>(decode<PointwiseSum>(kernel)), "tilefold"};
    case KernelKind::resizeForward:
      return inBlocks<Resize, T>(kernel, [](const Resize& r) { return cpu::resampleForward<T>(r, resamplingOf(r)); });
    case KernelKind::resizeBackward:
      return inBlocks<Resize, T>(kernel, [](const Resize& r) { return cpu::resampleBackward<T>(r, resamplingOf(r)); });
    case KernelKind::adaptivePoolForward:
      return inBlocks<Resampled, T>(kernel, [](const Resampled& r) { return cpu::resampleForward<T>(r, Resampling::adaptive); });
    case KernelKind::adaptivePoolBackward:
      return inBlocks<Resampled, T>(kernel, [](const Resampled& r) { return cpu::resampleBackward<T>(r, Resampling::adaptive); });
    case KernelKind::momentsForward:
      return {cpu::momentsForward<T>(decode<GroupedTile>(kernel)), "tilefold"};
    case KernelKind::normaliseForward:
      return {cpu::normaliseForward<T>(decode<Normalise>(kernel)), "tilefold"};
    case KernelKind::normaliseBackwardReduce:
      return {cpu::normaliseBackwardReduce<T>(decode<Normalise>(kernel)), "tilefold"};
    case KernelKind::normaliseBackward:
      return {cpu::normaliseBackward<T>(decode<Normalise>(kernel)), "tilefold"};
    case KernelKind::normalisedConvolutionForward:
    case KernelKind::normalisedConvolutionBackwardWeights:
      return cpu::compileNormalisedConvolution<T>(kernel.kind, decode<NormalisedConvolution>(kernel), threads);
    case KernelKind::addForward:
      return {cpu::addForward<T>(decode<Rectifier>(kernel)), "tilefold"};
    case KernelKind::copyChannels:
      return {cpu::copyChannels<T>(decode<CopyChannels>(kernel)), "tilefold"};
    case KernelKind::copyBox: {
      const auto b = decode<CopyBox>(kernel);
      return {b.ofParameters ? cpu::copyBox<float>(b) : cpu::copyBox<T>(b), "tilefold"};
    }
    case KernelKind::castWeights:
      return {cpu::castWeights<T>(decode<WeightReorder>(kernel)), "tilefold"};
    case KernelKind::zero:
      return {cpu::zero(decode<Zero>(kernel)), "tilefold"};
    case KernelKind::sgd:
      return {cpu::sgd(decode<Sgd>(kernel)), "tilefold"};
    case KernelKind::adam:
      return {cpu::adam(decode<Adam>(kernel)), "tilefold"};
    case KernelKind::sumSquares:
      return {cpu::sumSquares(decode<Count>(kernel)), "tilefold"};
    case KernelKind::clipGradient:
      return {cpu::clipGradient(decode<ClipGradient>(kernel)), "tilefold"};
    case KernelKind::pixelCrossEntropyForward:
      return inBlocks<PixelCrossEntropy, T>(kernel, cpu::pixelCrossEntropyForward<T>);
    case KernelKind::pixelCrossEntropyBackward:
      return inBlocks<PixelCrossEntropy, T>(kernel, cpu::pixelCrossEntropyBackward<T>);
    default:
      return referenceImplementation<T>(kernel);
  }
}

cpu::Implementation implementAs(Precision precision, const Kernel& kernel, int threads) {
  return precision == Precision::bf16 ? implement<Bfloat16>(kernel, threads) : implement<float>(kernel, threads);
}

class CpuDevice : public Device {
 public:
  CpuDevice(Precision precision, int threads) : precision_(precision), threads_(threads) {
    if (threads < 1) throw Failure("the CPU device needs at least one thread, not " + std::to_string(threads));
  }

  Precision precision() const override { return precision_; }

  std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) override {
    if (kernel.kind == KernelKind::loadImage)
      return std::make_unique<CpuLoad>(
          precision_ == Precision::bf16 ? reference::compile<Bfloat16>(kernel) : reference::compile<float>(kernel), threads_);
    return std::make_unique<CpuKernel>(implementAs(precision_, kernel, threads_).launch, threads_);
  }

  std::size_t scratchBytes(const Kernel& kernel) override {
    return memoised(kernel, [&]() -> std::size_t {
      switch (kernel.kind) {
        case KernelKind::convolutionForward:
        case KernelKind::convolutionBackwardData:
        case KernelKind::convolutionBackwardWeights:
          return isBf16() ? cpu::convolutionScratchBytes<Bfloat16>(kernel.kind, decode<Convolution>(kernel), threads_)
                          : cpu::convolutionScratchBytes<float>(kernel.kind, decode<Convolution>(kernel), threads_);
        case KernelKind::normalisedConvolutionForward:
        case KernelKind::normalisedConvolutionBackwardWeights: {
          const auto c = decode<NormalisedConvolution>(kernel);
          return isBf16() ? cpu::normalisedConvolutionScratchBytes<Bfloat16>(kernel.kind, c, threads_)
                          : cpu::normalisedConvolutionScratchBytes<float>(kernel.kind, c, threads_);
        }
        default:
          return 0;
      }
    });
  }

  std::size_t indicesBytes(const Kernel& kernel) override {
    return memoised(kernel, [&] { return cpu::maxPoolIndicesBytes(decode<Pool>(kernel)); });
  }

  Layout activationLayout(std::int64_t channels, bool input) override {
    if (input && channels <= 3) return Layout::plain;
    return cpu::blockedLayout();
  }

  WeightLayouts weightLayouts(const Kernel& kernel) override {
    omp_set_num_threads(threads_);
    const auto c = decode<Convolution>(kernel);
    return isBf16() ? cpu::convolutionWeightLayouts<Bfloat16>(c) : cpu::convolutionWeightLayouts<float>(c);
  }

 private:
  bool isBf16() const { return precision_ == Precision::bf16; }
  // A kernel has scratch or indices, never both, so one table serves the two.
  template <class Bytes>
  std::size_t memoised(const Kernel& kernel, const Bytes& bytes) {
    const auto key = std::pair(kernel.kind, kernel.fields);
    const auto known = bytes_.find(key);
    if (known != bytes_.end()) return known->second;
    omp_set_num_threads(threads_);
    return bytes_[key] = bytes();
  }

  Precision precision_;
  int threads_;
  std::map<std::pair<KernelKind, std::vector<double>>, std::size_t> bytes_;
};

}  // namespace

std::unique_ptr<Device> makeCpuDevice(Precision precision, int threads) {
  return std::make_unique<CpuDevice>(precision, threads);
}

std::string cpuImplementationName(Precision precision, const Kernel& kernel, int threads) {
  return implementAs(precision, kernel, threads).name;
}

}  // namespace tilefold
