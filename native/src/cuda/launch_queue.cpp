#include "launch_queue.hpp"

#include <utility>

namespace tilefold::cuda {

void LaunchQueue::launch(CompiledKernel& kernel, const std::vector<Operand>& operands) {
  auto* const fused = dynamic_cast<FusedKernel*>(&kernel);
  if (first_ != nullptr && fused != nullptr && fused->launchWith({*first_->waitsAs(), firstOperands_}, operands)) {
    first_ = nullptr;
    return;
  }
  enqueueFirst();
  if (fused == nullptr || fused->waitsAs() == nullptr) return small_.launch(kernel, operands);
  small_.enqueue();
  first_ = fused;
  firstOperands_ = operands;
}

void LaunchQueue::enqueueFirst() {
  if (FusedKernel* const first = std::exchange(first_, nullptr)) first->launch(firstOperands_, {});
}

void LaunchQueue::enqueue() {
  small_.enqueue();
  enqueueFirst();
}

void LaunchQueue::forget() {
  small_.forget();
  first_ = nullptr;
}

}  // namespace tilefold::cuda
