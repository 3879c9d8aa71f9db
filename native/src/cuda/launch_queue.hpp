// What the compute stream is given, in its order: small launches together, and each other one as
// part of the next where that can be.
#pragma once
#include "fused_kernel.hpp"
#include "small_launches.hpp"

namespace tilefold::cuda {

class LaunchQueue {
 public:
  explicit LaunchQueue(const Context& context) : small_(context) {}

  void launch(CompiledKernel& kernel, const std::vector<Operand>& operands);
  // All that wait.
  void enqueue();
  void forget();

 private:
  void enqueueFirst();

  SmallLaunches small_;
  // What waits for the next launch, behind all small ones.
  FusedKernel* first_ = nullptr;
  std::vector<Operand> firstOperands_;
};

}  // namespace tilefold::cuda
