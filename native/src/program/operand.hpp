// What each operand of a kernel occupies; the decoder holds every address against it.
#pragma once
#include <vector>

#include "../device.hpp"
#include "../kernels/kernels.hpp"

namespace tilefold {

struct OperandExtent {
  std::int64_t bytes = 0;      // read or written from its address on, highest reached byte + 1
  std::int64_t alignment = 1;  // the element's size
  bool optional = false;       // may stand in space `none`
  std::int64_t limit = 0;      // of an index: its largest legal value
};

constexpr std::int64_t largestSpace = std::int64_t{1} << 46;  // bytes

// One row an operand, in the table's order. `kernel` has passed checkKernel; the device gives
// scratch and indices, unless an operand is larger than `largest` bytes: then this throws Failure,
// since a device may take its time over a kernel that can never be launched.
std::vector<OperandExtent> operandExtents(const Kernel& kernel, Device& device, std::int64_t largest = largestSpace);

}  // namespace tilefold
