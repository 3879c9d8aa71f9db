// One kernel on any device.
#pragma once
#include "buffers.hpp"
#include "engines/engines.hpp"

namespace tilefold::test {

// A kernel's operands where its device reads them.
class Placed {
 public:
  // `operands` are of the machine's memory, each of the bytes that the decoder grants. Where the
  // device has memory of its own they are copied there. Throws Failure for a kernel that the
  // decoder or the device refuses.
  Placed(const Kernel& kernel, Device& device, const std::vector<Operand>& operands, const StepParameters& step);

  // What was written is in the machine's memory afterwards. Throws Failure for operands that are
  // refused, and for writes behind them.
  void launch();

  // Of an operand, where the kernel reads it.
  std::byte* address(std::size_t operand) const { return there_[operand].address; }

 private:
  class Gaps;

  std::size_t bytes(std::size_t operand) const { return static_cast<std::size_t>(extents_[operand].bytes); }

  std::unique_ptr<CompiledKernel> compiled_;
  std::vector<OperandExtent> extents_;
  std::vector<Operand> here_, there_;
  const StepParameters& step_;
  Section section_;
  std::unique_ptr<Engines> engines_;
  std::byte* end_ = nullptr;
};

// Where the device has memory of its own, what stands in the operands goes there and comes back.
void launch(const Kernel& kernel, Device& device, const std::vector<Operand>& operands, const StepParameters& step);

}  // namespace tilefold::test
