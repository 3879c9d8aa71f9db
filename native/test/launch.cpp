#include "launch.hpp"

#include "address_sanitizer.hpp"
#include "program/check_kernel.hpp"
#include "kernels/kernel_fields.hpp"

namespace tilefold::test {
namespace {

constexpr std::int64_t alignment = 64;  // as staging places buffers

// An operand's place, and the gap behind it.
std::int64_t placeOf(const OperandExtent& extent) { return roundUp(extent.bytes, alignment) + alignment; }

}  // namespace

// Nobody may touch what lies between the operands. A sanitizer sees it where the device's memory is
// the machine's (test/emulated_cuda).
class Placed::Gaps {
 public:
  explicit Gaps(const Placed& placed) : placed_(placed) {
    each([](std::byte* from, std::size_t bytes) { ASAN_POISON_MEMORY_REGION(from, bytes); });
  }
  ~Gaps() {
    each([](std::byte* from, std::size_t bytes) { ASAN_UNPOISON_MEMORY_REGION(from, bytes); });
  }
  Gaps(const Gaps&) = delete;
  Gaps& operator=(const Gaps&) = delete;

 private:
  template <class Body>
  void each(const Body& body) const {
    for (std::size_t i = 0; i < placed_.there_.size(); ++i)
      if (placed_.there_[i].address != nullptr)
        body(placed_.there_[i].address + placed_.bytes(i), static_cast<std::size_t>(placeOf(placed_.extents_[i])) - placed_.bytes(i));
  }

  const Placed& placed_;
};

Placed::Placed(const Kernel& kernel, Device& device, const std::vector<Operand>& operands, const StepParameters& step)
    : extents_(operandExtents(kernel, device)), here_(operands), there_(operands), step_(step) {
  checkKernel(kernel);
  compiled_ = device.compile(kernel);
  // Without properties a device computes in the machine's memory, where the operands are.
  if (!device.properties()) return;
  std::int64_t arenaBytes = alignment;
  for (const OperandExtent& extent : extents_) arenaBytes += placeOf(extent);
  Spaces spaces{static_cast<std::size_t>(arenaBytes), 0, 0, {}};
  section_.loadsImages = kernel.kind == KernelKind::loadImage;
  if (section_.loadsImages) {
    const auto load = decode<LoadImage>(kernel);
    spaces.images = {static_cast<std::int64_t>(step.images.size()), load.channels, load.fullHeight, load.fullWidth};
  }
  engines_ = device.engines(spaces, 0);
  end_ = engines_->arena();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].address == nullptr) continue;
    there_[i].address = end_;
    end_ += placeOf(extents_[i]);
  }
}

void Placed::launch() {
  if (!engines_) return compiled_->launch(here_, step_);
  for (std::size_t i = 0; i < here_.size(); ++i)
    if (here_[i].address != nullptr) engines_->upload(there_[i].address, here_[i].address, bytes(i));
  {
    const Gaps gaps(*this);
    const Progress progress;
    engines_->take(section_, step_);
    engines_->begin(section_, nullptr, false, progress);
    engines_->launch(Engine::compute, *compiled_, there_);
    engines_->end(true);
  }
  if (engines_->arenaPeakBytes() > static_cast<std::size_t>(end_ - engines_->arena()))
    throw Failure("a kernel wrote behind its operands");
  for (std::size_t i = 0; i < here_.size(); ++i)
    if (here_[i].address != nullptr) engines_->download(there_[i].address, here_[i].address, bytes(i));
}

void launch(const Kernel& kernel, Device& device, const std::vector<Operand>& operands, const StepParameters& step) {
  Placed(kernel, device, operands, step).launch();
}

}  // namespace tilefold::test
