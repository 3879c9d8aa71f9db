// A kernel of the cuda device's own from what one launch of it enqueues.
#pragma once
#include <memory>
#include <utility>

#include "../kernel_fields.hpp"
#include "../launch_operands.hpp"
#include "context.hpp"

namespace tilefold::cuda {

struct Arguments : LaunchOperands {
  const Context& context;

  using LaunchOperands::at;
  // Of parameters.
  float* at(std::size_t i) const { return at<float>(i); }
};

template <class Body>
class CompiledBody : public CompiledKernel {
 public:
  CompiledBody(const Context& context, Body body) : context_(context), body_(std::move(body)) {}
  void launch(const std::vector<Operand>& operands, const StepParameters&) override { body_(Arguments{{operands}, context_}); }
  void load(const std::vector<Operand>& operands, const StepParameters&) override {
    Context loading = context_;
    loading.compute = context_.load;
    body_(Arguments{{operands}, loading});
  }

 private:
  const Context& context_;
  Body body_;
};

// `body` takes the Arguments of a launch; `context` outlives the kernel.
template <class Body>
std::unique_ptr<CompiledKernel> compiled(const Context& context, Body body) {
  return std::make_unique<CompiledBody<Body>>(context, std::move(body));
}

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
