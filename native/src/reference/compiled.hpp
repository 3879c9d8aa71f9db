// A kernel of the reference device from what one launch of it does.
#pragma once
#include <memory>
#include <utility>

#include "../kernel_fields.hpp"
#include "../launch_operands.hpp"
#include "block_loop.hpp"

namespace tilefold::reference {

struct Arguments : LaunchOperands {
  const StepParameters& step;
};

template <class Body>
class CompiledBody : public CompiledKernel {
 public:
  explicit CompiledBody(Body body) : body_(std::move(body)) {}
  void launch(const std::vector<Operand>& operands, const StepParameters& step) override { body_(Arguments{{operands}, step}); }

 private:
  Body body_;
};

// `body` takes the Arguments of a launch.
template <class Body>
std::unique_ptr<CompiledKernel> compiled(Body body) {
  return std::make_unique<CompiledBody<Body>>(std::move(body));
}

// Fields of a kernel that runs in any blocked or plain layout.
template <class FieldsOfKind>
FieldsOfKind inBlocks(const Kernel& kernel) {
  const auto fields = decode<FieldsOfKind>(kernel);
  Planes(fields.layout, fields.batch, fields.channels);
  return fields;
}

}  // namespace tilefold::reference
