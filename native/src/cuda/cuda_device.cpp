#include "cuda_device.hpp"

#include "../engines.hpp"
#include "../kernel_fields.hpp"
#include "../reference/pooling.hpp"
#include "check.hpp"
#include "compile.hpp"
#include "context.hpp"
#include "convolution.hpp"
#include "cuda_engines.hpp"
#include "libraries.hpp"
#include "linear.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace tilefold {
namespace {

using namespace cuda;

// Multiply-adds of one multiprocessor in one cycle, in float32.
constexpr double lanes = 128;
// Tensor cores do about eight times as much in TF32.
constexpr double tensorCores = 8;

void requireGpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return;
  const std::string reason = status == cudaSuccess ? "it shows none" : cudaGetErrorString(status);
  throw Failure("no NVIDIA GPU can be used (CUDA " + std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10) +
                ": " + reason + "): install its driver (libcuda.so.1 on the loader's path), or use --device cpu");
}

int attribute(cudaDeviceAttr name) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, 0), "asking the GPU");
  return value;
}

bool isConvolution(KernelKind kind) {
  return kind == KernelKind::convolutionForward || kind == KernelKind::convolutionBackwardData ||
         kind == KernelKind::convolutionBackwardWeights;
}

class CudaDevice : public Device {
 public:
  explicit CudaDevice(bool tf32) {
    requireGpu();
    stream_ = makeStream();
    context_.compute = stream_.get();
    context_.math = tf32 ? Math::tf32 : Math::float32;
    context_.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
    libraries_ = std::make_unique<Libraries>(context_.compute, context_.math);
    context_.libraries = libraries_.get();
    partials_ = deviceMemory<Partials>(1, "taking memory for sums");
    check(cudaMemsetAsync(partials_.get(), 0, sizeof(Partials), context_.compute), "clearing memory for sums");
    context_.partials = partials_.get();
  }

  Precision precision() const override { return Precision::float32; }

  std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) override {
    if (isConvolution(kernel.kind)) return compileConvolution(kernel.kind, decode<Convolution>(kernel), context_);
    switch (kernel.kind) {
      case KernelKind::linearForward:
      case KernelKind::linearBackwardData:
      case KernelKind::linearBackwardWeights:
        return compileLinear(kernel.kind, decode<Linear>(kernel), context_);
      default:
        return compileOwn(kernel, context_);
    }
  }

  std::size_t scratchBytes(const Kernel& kernel) override {
    return isConvolution(kernel.kind) ? convolutionScratchBytes(kernel.kind, decode<Convolution>(kernel), context_) : 0;
  }

  std::size_t winnersBytes(const Kernel& kernel) override { return reference::winnersBytes(decode<MaxPool>(kernel)); }

  // Tensor cores want a pixel's channels side by side; without them cuDNN's fastest kernels are those for planes.
  Layout activationLayout(std::int64_t, bool) override { return tf32() ? Layout::nhwc : Layout::plain; }

  WeightLayouts weightLayouts(const Kernel&) override {
    const Layout layout = tf32() ? Layout::ohwi : Layout::plain;
    return {layout, layout};
  }

  std::vector<Algorithm> algorithms(const Kernel& kernel) override {
    return convolutionAlgorithms(kernel.kind, decode<Convolution>(kernel), context_);
  }

  std::optional<DeviceProperties> properties() override {
    cudaDeviceProp device{};
    check(cudaGetDeviceProperties(&device, 0), "asking the GPU");
    const double cycles = 1e3 * attribute(cudaDevAttrClockRate);
    const double bytes = 2e3 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
    DeviceProperties properties;
    properties.name = device.name;
    properties.library = libraries_->versions();
    // About half of what the data sheet says is what convolutions reach, and four fifths of the memory's rate.
    properties.flopsPerSecond = 0.5 * 2 * lanes * cycles * context_.multiprocessors * (tf32() ? tensorCores : 1);
    properties.bytesPerSecond = 0.8 * bytes;
    properties.launchSeconds = 3e-6;
    properties.memoryBytes = static_cast<double>(device.totalGlobalMem);
    return properties;
  }

  std::unique_ptr<Engines> engines(const Spaces& spaces, double linkBytesPerSecond) override {
    return makeCudaEngines(spaces, linkBytesPerSecond, context_);
  }

 private:
  bool tf32() const { return context_.math == Math::tf32; }

  Stream stream_;
  Context context_;
  std::unique_ptr<Libraries> libraries_;
  DeviceMemory<Partials> partials_;
};

}  // namespace

std::unique_ptr<Device> makeCudaDevice(bool tf32) { return std::make_unique<CudaDevice>(tf32); }

}  // namespace tilefold
