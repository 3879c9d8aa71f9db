// A kernel of the reference device from what one launch of it does.
#pragma once
#include <functional>
#include <memory>

#include "../kernels/kernel_fields.hpp"
#include "../kernels/launch_operands.hpp"

namespace tilefold::reference {

struct Arguments : LaunchOperands {
  const StepParameters& step;
};

// `body` is what a launch does.
std::unique_ptr<CompiledKernel> compiled(std::function<void(const Arguments&)> body);

}  // namespace tilefold::reference
