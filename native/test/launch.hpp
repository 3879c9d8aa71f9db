// One kernel on any device.
#pragma once
#include <vector>

#include "device.hpp"

namespace tilefold::test {

// Where the device has memory of its own, what stands in the operands goes there and comes back.
void launch(const Kernel& kernel, Device& device, const std::vector<Operand>& operands, const StepParameters& step);

}  // namespace tilefold::test
