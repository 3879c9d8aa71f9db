#include "cpu_device.hpp"

#include <omp.h>

#include <map>

#include "../reference/device.hpp"
#include "../reference/pooling.hpp"
#include "bias.hpp"
#include "clipping.hpp"
#include "convolution.hpp"
#include "copy_box.hpp"
#include "copy_channels.hpp"
#include "expression.hpp"
#include "linear.hpp"
#include "max_pool.hpp"
#include "normalisation.hpp"
#include "onednn.hpp"
#include "pixel_loss.hpp"
#include "pointwise.hpp"
#include "processor.hpp"
#include "resampling.hpp"
#include "weights.hpp"

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

cpu::Implementation referenceImplementation(const Kernel& kernel) {
  const std::shared_ptr<CompiledKernel> compiled = reference::compile<float>(kernel);
  return {[compiled](const std::vector<Operand>& operands, const StepParameters& step) { compiled->launch(operands, step); }, "reference"};
}

// What our loops do in blocked layouts; the reference's serve the plain one.
template <class FieldsOfKind, class Compile>
cpu::Implementation inBlocks(const Kernel& kernel, const Compile& compile) {
  const auto fields = decode<FieldsOfKind>(kernel);
  if (channelBlock(fields.layout) == 1) return referenceImplementation(kernel);
  return {compile(fields), "blocked loops"};
}

cpu::Implementation implement(const Kernel& kernel, int threads) {
  omp_set_num_threads(threads);
  switch (kernel.kind) {
    case KernelKind::convolutionForward:
    case KernelKind::convolutionBackwardData:
    case KernelKind::convolutionBackwardWeights:
      return cpu::compileConvolution(kernel.kind, decode<Convolution>(kernel), threads);
    case KernelKind::maxPoolForward:
    case KernelKind::maxPoolBackward:
      return cpu::compileMaxPool(kernel.kind, decode<Pool>(kernel));
    case KernelKind::reorderWeights:
      return {cpu::reorderWeights(decode<WeightReorder>(kernel)), "tilefold"};
    case KernelKind::rectifierForward:
      return {cpu::rectifierForward(decode<Rectifier>(kernel)), "tilefold"};
    case KernelKind::rectifierBackward:
      return {cpu::rectifierBackward(decode<Rectifier>(kernel)), "tilefold"};
    case KernelKind::linearForward:
      return {cpu::linearForward(decode<Linear>(kernel)), "tilefold"};
    case KernelKind::linearBackwardData:
      return {cpu::linearBackwardData(decode<Linear>(kernel)), "tilefold"};
    case KernelKind::linearBackwardWeights:
      return {cpu::linearBackwardWeights(decode<Linear>(kernel)), "tilefold"};
    case KernelKind::resizeForward:
      return inBlocks<Resize>(kernel, [](const Resize& r) { return cpu::resampleForward(r, resamplingOf(r)); });
    case KernelKind::resizeBackward:
      return inBlocks<Resize>(kernel, [](const Resize& r) { return cpu::resampleBackward(r, resamplingOf(r)); });
    case KernelKind::adaptivePoolForward:
      return inBlocks<Resampled>(kernel, [](const Resampled& r) { return cpu::resampleForward(r, Resampling::adaptive); });
    case KernelKind::adaptivePoolBackward:
      return inBlocks<Resampled>(kernel, [](const Resampled& r) { return cpu::resampleBackward(r, Resampling::adaptive); });
    case KernelKind::addBias:
      return inBlocks<Tile>(kernel, cpu::addBias);
    case KernelKind::sumBias:
      return inBlocks<Tile>(kernel, cpu::sumBias);
    case KernelKind::pixelCrossEntropyForward:
      return inBlocks<PixelCrossEntropy>(kernel, cpu::pixelCrossEntropyForward);
    case KernelKind::pixelCrossEntropyBackward:
      return inBlocks<PixelCrossEntropy>(kernel, cpu::pixelCrossEntropyBackward);
    case KernelKind::momentsForward:
      return {cpu::momentsForward(decode<GroupedTile>(kernel)), "tilefold"};
    case KernelKind::normaliseForward:
      return {cpu::normaliseForward(decode<Normalise>(kernel)), "tilefold"};
    case KernelKind::normaliseBackwardReduce:
      return {cpu::normaliseBackwardReduce(decode<Normalise>(kernel)), "tilefold"};
    case KernelKind::normaliseBackward:
      return {cpu::normaliseBackward(decode<Normalise>(kernel)), "tilefold"};
    case KernelKind::addForward:
      return {cpu::addForward(decode<Rectifier>(kernel)), "tilefold"};
    case KernelKind::copyChannels:
      return {cpu::copyChannels(decode<CopyChannels>(kernel)), "tilefold"};
    case KernelKind::pointwiseForward:
      return {cpu::pointwiseForward(decode<Pointwise>(kernel)), "tilefold"};
    case KernelKind::pointwiseBackward:
      return {cpu::pointwiseBackward(decode<Pointwise>(kernel)), "tilefold"};
    case KernelKind::pointwiseSum:
      return {cpu::pointwiseSum(decode<PointwiseSum>(kernel)), "tilefold"};
    case KernelKind::copyBox:
      return {cpu::copyBox(decode<CopyBox>(kernel)), "tilefold"};
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
    default:
      return referenceImplementation(kernel);
  }
}

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads) : threads_(threads) {
    if (threads < 1) throw Failure("the CPU device needs at least one thread, not " + std::to_string(threads));
  }

  Precision precision() const override { return Precision::float32; }

  std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) override {
    return std::make_unique<CpuKernel>(implement(kernel, threads_).launch, threads_);
  }

  std::size_t scratchBytes(const Kernel& kernel) override {
    return memoised(kernel, [&]() -> std::size_t {
      switch (kernel.kind) {
        case KernelKind::convolutionForward:
        case KernelKind::convolutionBackwardData:
        case KernelKind::convolutionBackwardWeights:
          return cpu::convolutionScratchBytes(kernel.kind, decode<Convolution>(kernel), threads_);
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
    return cpu::machineBlock() == 16 ? Layout::nChw16c : Layout::nChw8c;
  }

  WeightLayouts weightLayouts(const Kernel& kernel) override {
    omp_set_num_threads(threads_);
    return cpu::convolutionWeightLayouts(decode<Convolution>(kernel));
  }

 private:
  // A kernel has scratch or indices, never both, so one table serves the two.
  template <class Bytes>
  std::size_t memoised(const Kernel& kernel, const Bytes& bytes) {
    const auto key = std::pair(kernel.kind, kernel.fields);
    const auto known = bytes_.find(key);
    if (known != bytes_.end()) return known->second;
    omp_set_num_threads(threads_);
    return bytes_[key] = bytes();
  }

  int threads_;
  std::map<std::pair<KernelKind, std::vector<double>>, std::size_t> bytes_;
};

}  // namespace

std::unique_ptr<Device> makeCpuDevice(int threads) { return std::make_unique<CpuDevice>(threads); }

std::string cpuImplementationName(const Kernel& kernel, int threads) { return implement(kernel, threads).name; }

}  // namespace tilefold
