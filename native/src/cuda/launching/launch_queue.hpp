// What the compute stream is given, in its order: small launches together, and others as parts of
// the next where that can be.
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
  static constexpr std::size_t mostWaiting = 2;

  void enqueueWaiting();

  SmallLaunches small_;
  // What waits for the next launch behind all small ones, and what enqueues it.
  std::vector<WaitingLaunch> waiting_;
  std::function<void()> enqueueAll_;
};

}  // namespace tilefold::cuda
