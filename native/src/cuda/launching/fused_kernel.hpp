// Kernels whose launch and those before it can be one pass over memory.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "../../device.hpp"

namespace tilefold::cuda {

// A launch that is not enqueued yet.
struct WaitingLaunch {
  const Kernel* kernel;
  std::vector<Operand> operands;
};

class FusedKernel : public CompiledKernel {
 public:
  // What its launches are, where they wait for the one behind them; else null.
  virtual const Kernel* waitsAs() const { return nullptr; }
  // What enqueues all of `before`, one or two launches, and then one of this kernel as one, with
  // the results of all, bit for bit; nothing where that cannot be.
  virtual std::function<void()> with(const std::vector<WaitingLaunch>& before, const std::vector<Operand>& operands) = 0;
};

// Whether `bytes` from `one` on and `otherBytes` from `other` on have a byte in common.
inline bool overlap(const void* one, std::int64_t bytes, const void* other, std::int64_t otherBytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(one), second = reinterpret_cast<std::uintptr_t>(other);
  return first < second + static_cast<std::uintptr_t>(otherBytes) && second < first + static_cast<std::uintptr_t>(bytes);
}

}  // namespace tilefold::cuda
