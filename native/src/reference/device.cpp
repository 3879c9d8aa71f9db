#include "device.hpp"

#include "../kernels/bfloat16.hpp"
#include "pooling.hpp"

namespace tilefold {
namespace {

class ReferenceDevice : public Device {
 public:
  explicit ReferenceDevice(Precision precision) : precision_(precision) {}

  Precision precision() const override { return precision_; }
  std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) override {
    switch (precision_) {
      case Precision::float64:
        return reference::compile<double>(kernel);
      case Precision::bf16:
        return reference::compile<Bfloat16>(kernel);
      case Precision::float32:
        break;
    }
    return reference::compile<float>(kernel);
  }
  std::size_t scratchBytes(const Kernel&) override { return 0; }
  std::size_t indicesBytes(const Kernel& kernel) override { return reference::indicesBytes(decode<Pool>(kernel)); }
  Layout activationLayout(std::int64_t, bool) override { return Layout::plain; }
  WeightLayouts weightLayouts(const Kernel&) override { return {Layout::plain, Layout::plain, Layout::plain}; }

 private:
  Precision precision_;
};

}  // namespace

std::unique_ptr<Device> makeReferenceDevice(Precision precision) { return std::make_unique<ReferenceDevice>(precision); }

}  // namespace tilefold
