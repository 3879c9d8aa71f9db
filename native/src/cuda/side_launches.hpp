// Gradients of weights beside what computes: nothing in backward waits for them, and alone they
// leave multiprocessors, or the memory, idle.
#pragma once
#include <cstddef>
#include <vector>

#include "context.hpp"
#include "stream.hpp"

namespace tilefold::cuda {

// A kernel that may run beside others: it uses no memory but its operands.
class SideKernel : public CompiledKernel {};

// Launches on a stream of their own, each behind all that was queued to compute before it. What is
// queued to compute later waits for those whose bytes it touches, where one of both writes.
class SideLaunches {
 public:
  // Of the current CUDA device; what computes does so on `context.compute`.
  explicit SideLaunches(Context& context) : context_(context), stream_(makeStream()) {}

  static bool takes(const CompiledKernel& kernel) { return dynamic_cast<const SideKernel*>(&kernel) != nullptr; }
  void launch(CompiledKernel& kernel, const std::vector<Operand>& operands);
  // Before a launch of these operands is queued to compute.
  void precede(const std::vector<Operand>& operands);
  // Before whatever else is: computing waits for all.
  void join();
  // After a failure: waits.
  void settle() noexcept;

 private:
  // A launch for which computing has not waited.
  struct Open {
    std::vector<Operand> operands;
    Event done;
  };
  // For this one and all before it.
  void wait(std::size_t index);
  Event takeEvent();

  Context& context_;
  Stream stream_;
  Event order_ = makeEvent();
  std::vector<Open> open_;  // in the order of launching
  std::vector<Event> free_;
};

}  // namespace tilefold::cuda
