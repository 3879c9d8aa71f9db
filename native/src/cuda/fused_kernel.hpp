// Kernels whose launch and the one before it can be one pass over memory.
#pragma once
#include <vector>

#include "../device.hpp"

namespace tilefold::cuda {

// A launch that is not enqueued yet.
struct WaitingLaunch {
  const Kernel& kernel;
  const std::vector<Operand>& operands;
};

class FusedKernel : public CompiledKernel {
 public:
  // What its launches are, where they wait for the one behind them; else null.
  virtual const Kernel* waitsAs() const { return nullptr; }
  // Enqueues `before` and a launch of this kernel behind it as one, with the results of both, bit
  // for bit. False: enqueues nothing.
  virtual bool launchWith(const WaitingLaunch& before, const std::vector<Operand>& operands) = 0;
};

// Whether `bytes` from `one` on and `otherBytes` from `other` on have a byte in common.
inline bool overlap(const void* one, std::int64_t bytes, const void* other, std::int64_t otherBytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(one), second = reinterpret_cast<std::uintptr_t>(other);
  return first < second + static_cast<std::uintptr_t>(otherBytes) && second < first + static_cast<std::uintptr_t>(bytes);
}

}  // namespace tilefold::cuda
