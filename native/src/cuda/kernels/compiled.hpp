// A kernel of the cuda device's own from what one launch of it enqueues.
#pragma once
#include <functional>
#include <memory>

#include "../../kernels/kernel_fields.hpp"
#include "../../kernels/launch_operands.hpp"
#include "../context/context.hpp"
#include "../launching/fused_kernel.hpp"
#include "../launching/small_launches.hpp"

namespace tilefold::cuda {

struct Arguments : LaunchOperands {
  const Context& context;

  using LaunchOperands::at;
  // Of parameters.
  float* at(std::size_t i) const { return at<float>(i); }
};

// `body` is what a launch enqueues; `context` outlives the kernel.
std::unique_ptr<CompiledKernel> compiled(const Context& context, std::function<void(const Arguments&)> body);
// Of a kernel whose launches may wait for others of it; `of` says what one does.
std::unique_ptr<CompiledKernel> compiledSmall(const Context& context, std::function<SmallLaunch(const Arguments&)> of);
// What enqueues a launch with those before it (fused_kernel.hpp); nothing where that cannot be.
using With = std::function<std::function<void()>(const std::vector<WaitingLaunch>& before, const std::vector<Operand>& operands)>;
// Of a kernel that waits for the launch behind it, and may be launched with those before.
std::unique_ptr<CompiledKernel> compiledWaiting(const Context& context, const Kernel& kernel, std::function<void(const Arguments&)> body,
                                                With with = nullptr);
std::unique_ptr<CompiledKernel> compiledWith(const Context& context, std::function<void(const Arguments&)> body, With with);
// Of a loadImage.
std::unique_ptr<CompiledKernel> compiledLoad(const Context& context, LoadImage load, std::function<void(const Arguments&)> body);

inline void requireActivation(Layout layout) {
  if (layout != Layout::plain && layout != Layout::nhwc)
    throw Failure(std::string("the cuda device keeps activations plain or nhwc, not ") + layoutInfo(layout).name);
}

// Fields with a layout that the kernels here know.
template <class FieldsOfKind>
FieldsOfKind tiled(const Kernel& kernel) {
  const auto fields = decode<FieldsOfKind>(kernel);
  requireActivation(fields.layout);
  return fields;
}

// Fields with two of them.
template <class FieldsOfKind>
FieldsOfKind betweenTiles(const Kernel& kernel) {
  const auto fields = decode<FieldsOfKind>(kernel);
  requireActivation(fields.sourceLayout);
  requireActivation(fields.destinationLayout);
  return fields;
}

}  // namespace tilefold::cuda
