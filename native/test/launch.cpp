#include "launch.hpp"

#include "check_kernel.hpp"
#include "engines.hpp"
#include "kernel_fields.hpp"
#include "operand.hpp"

namespace tilefold::test {

void launch(const Kernel& kernel, Device& device, const std::vector<Operand>& operands, const StepParameters& step) {
  checkKernel(kernel);
  const std::unique_ptr<CompiledKernel> compiled = device.compile(kernel);
  const std::vector<OperandExtent> extents = operandExtents(kernel, device);
  std::int64_t bytes = 64;
  for (const OperandExtent& extent : extents) bytes += roundUp(extent.bytes, 64);
  Spaces spaces{static_cast<std::size_t>(bytes), 0, 0, {}};
  if (kernel.kind == KernelKind::loadImage) {
    const auto load = decode<LoadImage>(kernel);
    spaces.images = {static_cast<std::int64_t>(step.images.size()), load.channels, load.fullHeight, load.fullWidth};
  }
  const std::unique_ptr<Engines> engines = device.engines(spaces, 0);
  if (!engines->queue()) return compiled->launch(operands, step);
  std::vector<Operand> there = operands;
  std::byte* next = engines->arena();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].address == nullptr) continue;
    there[i].address = next;
    engines->upload(next, operands[i].address, static_cast<std::size_t>(extents[i].bytes));
    next += roundUp(extents[i].bytes, 64);
  }
  Section section;
  section.loadsImages = kernel.kind == KernelKind::loadImage;
  engines->begin(section, nullptr, step);
  engines->launch(Engine::compute, *compiled, there);
  engines->end(true);
  if (engines->arenaPeakBytes() > static_cast<std::size_t>(next - engines->arena()))
    throw Failure(std::string(kernelInfo(kernel.kind).name) + " wrote behind its operands");
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].address != nullptr)
      engines->download(there[i].address, operands[i].address, static_cast<std::size_t>(extents[i].bytes));
}

}  // namespace tilefold::test
