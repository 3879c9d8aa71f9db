#include "side_launches.hpp"

#include <algorithm>
#include <utility>

#include "libraries.hpp"

namespace tilefold::cuda {
namespace {

bool conflict(const Operand& one, const Operand& other) {
  if (!one.written && !other.written) return false;
  if (one.address == nullptr || other.address == nullptr) return false;
  return one.address < other.address + other.bytes && other.address < one.address + one.bytes;
}

bool conflict(const std::vector<Operand>& some, const std::vector<Operand>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Operand& one) {
    return std::any_of(others.begin(), others.end(), [&](const Operand& other) { return conflict(one, other); });
  });
}

// What a kernel queues meanwhile goes to another stream.
class OnStream {
 public:
  OnStream(Context& context, cudaStream_t stream) : context_(context), before_(std::exchange(context.compute, stream)) {
    context_.libraries->setStream(stream);
  }
  ~OnStream() {
    context_.compute = before_;
    context_.libraries->setStream(before_);
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  Context& context_;
  cudaStream_t before_;
};

}  // namespace

void SideLaunches::launch(CompiledKernel& kernel, const std::vector<Operand>& operands) {
  check(cudaEventRecord(order_.get(), context_.compute), "recording an event");
  check(cudaStreamWaitEvent(stream_.get(), order_.get(), 0), "waiting for an event");
  {
    const OnStream beside(context_, stream_.get());
    kernel.launch(operands, {});
  }
  Event done = takeEvent();
  check(cudaEventRecord(done.get(), stream_.get()), "recording an event");
  open_.push_back({operands, std::move(done)});
}

void SideLaunches::precede(const std::vector<Operand>& operands) {
  for (std::size_t i = open_.size(); i-- > 0;)
    if (conflict(open_[i].operands, operands)) return wait(i);
}

void SideLaunches::join() {
  if (!open_.empty()) wait(open_.size() - 1);
}

void SideLaunches::settle() noexcept {
  static_cast<void>(cudaStreamSynchronize(stream_.get()));
  for (Open& one : open_) free_.push_back(std::move(one.done));
  open_.clear();
}

void SideLaunches::wait(std::size_t index) {
  check(cudaStreamWaitEvent(context_.compute, open_[index].done.get(), 0), "waiting for an event");
  const auto end = open_.begin() + static_cast<std::ptrdiff_t>(index) + 1;
  for (auto one = open_.begin(); one != end; ++one) free_.push_back(std::move(one->done));
  open_.erase(open_.begin(), end);
}

Event SideLaunches::takeEvent() {
  if (free_.empty()) return makeEvent();
  Event event = std::move(free_.back());
  free_.pop_back();
  return event;
}

}  // namespace tilefold::cuda
