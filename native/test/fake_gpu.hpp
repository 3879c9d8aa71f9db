// A GPU of the emulated CUDA (emulated_cuda/runtime.hpp) whose kernels are the reference device's.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "cuda/cuda_engines.hpp"
#include "cuda/launching/stream.hpp"
#include "emulated_cuda/runtime.hpp"
#include "reference/device.hpp"

namespace tilefold::test {

using cuda::Context;

constexpr std::int64_t imageRows = 20;  // of the one image that is loaded, a pixel wide

// The reference device's kernels, queued as a GPU's would be: what changes from step to step is
// read when they run.
class FakeGpu : public Device {
 public:
  FakeGpu() { context_.compute = stream_.get(); }
  Precision precision() const override { return Precision::float64; }
  std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) override {
    return std::make_unique<Queued>(kernel, reference_->compile(kernel), context_, waits);
  }
  std::size_t scratchBytes(const Kernel&) override { return 0; }
  std::size_t indicesBytes(const Kernel& kernel) override { return reference_->indicesBytes(kernel); }
  Layout activationLayout(std::int64_t, bool) override { return Layout::plain; }
  WeightLayouts weightLayouts(const Kernel&) override { return {Layout::plain, Layout::plain, Layout::plain}; }
  std::unique_ptr<Engines> engines(const Spaces& spaces, double rate) override {
    ++arenas;
    return cuda::makeCudaEngines(spaces, rate, context_);
  }
  int arenas = 0;
  bool waits = false;  // kernels wait for their stream, which none may do under capture

 private:
  class Queued : public CompiledKernel {
   public:
    Queued(const Kernel& kernel, std::shared_ptr<CompiledKernel> compiled, const Context& context, const bool& waits)
        : loads_(kernel.kind == KernelKind::loadImage), kernel_(std::move(compiled)), context_(context), waits_(waits) {}
    void launch(const std::vector<Operand>& operands, const StepParameters&) override { launchOn(context_.compute, operands); }
    void load(const std::vector<Operand>& operands, const StepParameters&) override { launchOn(context_.load, operands); }

   private:
    void launchOn(cudaStream_t stream, const std::vector<Operand>& operands) {
      if (waits_) cuda::check(cudaStreamSynchronize(stream), "waiting in a kernel's launch");
      emulated::enqueue(stream, [kernel = kernel_, loads = loads_, step = context_.step, fault = context_.fault, operands] {
        StepParameters parameters;
        parameters.learningRate = step->learningRate;
        parameters.step = step->step;
        if (loads) {
          Image image;
          image.pixels = step->images[0].pixels;
          image.channels = image.width = 1;
          image.height = imageRows;
          parameters.images = {image};
        }
        try {
          kernel->launch(operands, parameters);
        } catch (const Failure&) {
          fault->kind = static_cast<std::int32_t>(cuda::FaultKind::label);
        }
      });
    }

    bool loads_;
    std::shared_ptr<CompiledKernel> kernel_;
    const Context& context_;
    const bool& waits_;
  };

  cuda::Stream stream_ = cuda::makeStream();
  Context context_;
  std::unique_ptr<Device> reference_ = makeReferenceDevice(Precision::float64);
};

}  // namespace tilefold::test
