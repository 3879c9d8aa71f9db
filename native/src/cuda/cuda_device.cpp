#include "cuda_device.hpp"

#include "../engines/engines.hpp"
#include "../kernels/kernel_fields.hpp"
#include "card_rates.hpp"
#include "context/check.hpp"
#include "context/context.hpp"
#include "convolution/convolution.hpp"
#include "cuda_engines.hpp"
#include "kernels/compile.hpp"
#include "kernels/linear.hpp"
#include "kernels/max_pool.hpp"
#include "launching/stream.hpp"
#include "libraries/libraries.hpp"
#include "memory/memory.hpp"

namespace tilefold {
namespace {

using namespace cuda;

int attribute(cudaDeviceAttr name) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, 0), "asking the GPU");
  return value;
}

cudaDeviceProp propertiesOfGpu() {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "asking the GPU");
  return device;
}

std::string versionText(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

// Throws Failure where there is no GPU that computes so.
void requireGpu(bool tensorCores) {
  const std::string wanted = "no NVIDIA GPU can be used (CUDA " + versionText(CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10) + ": ";
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver)
    throw Failure(wanted + "its driver is missing or too old): install version 580 or newer, or use --device cpu");
  if (status != cudaSuccess || count == 0)
    throw Failure(wanted + (status == cudaSuccess ? "it shows none" : cudaGetErrorString(status)) +
                  "): install its driver (libcuda.so.1 on the loader's path), or use --device cpu");
  const cudaDeviceProp gpu = propertiesOfGpu();
  const auto require = [&](int major, int minor, const char* what, const char* remedy) {
    if (gpu.major > major || (gpu.major == major && gpu.minor >= minor)) return;
    throw Failure(std::string(what) + " a GPU of compute capability " + versionText(major, minor) + " or higher, but " + gpu.name +
                  " has " + versionText(gpu.major, gpu.minor) + ": use " + remedy);
  };
  require(7, 5, "the cuda device needs", "--device cpu");
  if (tensorCores) require(8, 0, "TF32 and bf16 need", "--precision float32");
}

class CudaDevice : public Device {
 public:
  CudaDevice(Precision precision, bool tf32) {
    requireGpu(tf32 || precision == Precision::bf16);
    stream_ = makeStream();
    context_.compute = stream_.get();
    context_.precision = precision;
    context_.math = tf32 ? Math::tf32 : Math::float32;
    context_.multiprocessors = attribute(cudaDevAttrMultiProcessorCount);
    context_.computeCapability = attribute(cudaDevAttrComputeCapabilityMajor);
    libraries_ = std::make_unique<Libraries>(context_.compute);
    context_.libraries = libraries_.get();
    partials_ = deviceMemory<Partials>(1, "taking memory for sums");
    check(cudaMemsetAsync(partials_.get(), 0, sizeof(Partials), context_.compute), "clearing memory for sums");
    context_.partials = partials_.get();
  }

  Precision precision() const override { return context_.precision; }

  std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) override {
    if (isConvolution(kernel.kind)) return compileConvolution(kernel.kind, decode<Convolution>(kernel), context_);
    if (isLinear(kernel.kind)) return compileLinear(kernel.kind, decode<Linear>(kernel), context_);
    return compileOwn(kernel, context_);
  }

  std::size_t scratchBytes(const Kernel& kernel) override {
    return isConvolution(kernel.kind) ? convolutionScratchBytes(kernel.kind, decode<Convolution>(kernel), context_) : 0;
  }

  std::size_t indicesBytes(const Kernel& kernel) override { return maxPoolIndicesBytes(decode<Pool>(kernel)); }

  // Tensor cores want a pixel's channels side by side; without them cuDNN's fastest kernels are
  // those for planes.
  Layout activationLayout(std::int64_t, bool) override { return usesTensorCores(context_) ? Layout::nhwc : Layout::plain; }

  WeightLayouts weightLayouts(const Kernel&) override {
    const Layout layout = usesTensorCores(context_) ? Layout::ohwi : Layout::plain;
    return {layout, layout, layout};
  }

  std::vector<Algorithm> algorithms(const Kernel& kernel) override {
    return convolutionAlgorithms(kernel.kind, decode<Convolution>(kernel), context_);
  }

  std::optional<DeviceProperties> properties() override {
    const cudaDeviceProp device = propertiesOfGpu();
    const double cycles = 1e3 * attribute(cudaDevAttrClockRate);
    const double bytes = 2e3 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
    const CardRates rates = cardRates(device.major, device.minor, device.name);
    DeviceProperties properties;
    properties.name = device.name;
    properties.library = libraries_->versions();
    // Of what the data sheet says three fifths are what convolutions reach on an H200, and four
    // fifths of the memory's rate.
    properties.flopsPerSecond = 0.6 * 2 * rates.lanes * cycles * context_.multiprocessors * timesAsMuch(rates);
    properties.bytesPerSecond = 0.8 * bytes;
    properties.launchSeconds = 3e-6;
    properties.multiprocessors = context_.multiprocessors;
    properties.memoryBytes = static_cast<double>(device.totalGlobalMem);
    return properties;
  }

  std::unique_ptr<Engines> engines(const Spaces& spaces, double linkBytesPerSecond) override {
    return makeCudaEngines(spaces, linkBytesPerSecond, context_);
  }

 private:
  double timesAsMuch(const CardRates& rates) const {
    if (context_.precision == Precision::bf16) return rates.bf16;
    return context_.math == Math::tf32 ? rates.tf32 : 1;
  }

  Stream stream_;
  Context context_;
  std::unique_ptr<Libraries> libraries_;
  DeviceMemory<Partials> partials_;
};

}  // namespace

std::unique_ptr<Device> makeCudaDevice(Precision precision, bool tf32) { return std::make_unique<CudaDevice>(precision, tf32); }

}  // namespace tilefold
