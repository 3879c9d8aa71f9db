#include "launch_queue.hpp"

#include <utility>

namespace tilefold::cuda {

void LaunchQueue::launch(CompiledKernel& kernel, const std::vector<Operand>& operands) {
  auto* const fused = dynamic_cast<FusedKernel*>(&kernel);
  const Kernel* const waitsAs = fused == nullptr ? nullptr : fused->waitsAs();
  if (fused != nullptr && !waiting_.empty()) {
    if (std::function<void()> together = fused->with(waiting_, operands)) {
      enqueueAll_ = std::move(together);
      if (waitsAs == nullptr || waiting_.size() == mostWaiting) return enqueueWaiting();
      return waiting_.push_back({waitsAs, operands});
    }
  }
  enqueueWaiting();
  if (waitsAs == nullptr) return small_.launch(kernel, operands);
  small_.enqueue();
  waiting_.push_back({waitsAs, operands});
  enqueueAll_ = [fused, operands] { fused->launch(operands, {}); };
}

void LaunchQueue::enqueueWaiting() {
  waiting_.clear();
  if (const std::function<void()> all = std::exchange(enqueueAll_, nullptr)) all();
}

void LaunchQueue::enqueue() {
  small_.enqueue();
  enqueueWaiting();
}

void LaunchQueue::forget() {
  small_.forget();
  waiting_.clear();
  enqueueAll_ = nullptr;
}

}  // namespace tilefold::cuda
