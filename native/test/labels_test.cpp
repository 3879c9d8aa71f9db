// Labels of pixels that are no class: a device names one.
#include <cstdio>
#include <cstring>

#include "buffers.hpp"
#include "launch.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

constexpr std::int32_t ignored = 255;

std::string refusal(const Kernel& kernel, Device& device, const std::vector<std::int32_t>& labels) {
  const Operands operands = allocate(kernel, device, false);
  std::memcpy(operands.blocks[1].data(), labels.data(), operands.blocks[1].bytes());
  const double one = 1;
  std::memcpy(operands.blocks[3].data(), &one, sizeof(one));
  try {
    launch(kernel, device, operands.operands, {});
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace

int checkLabels(const std::string& name, Device& device) {
  const std::string expected = "label 7 of a pixel is neither in 0 .. 2 nor the ignored 255";
  int failures = 0;
  for (const KernelKind kind : {KernelKind::pixelCrossEntropyForward, KernelKind::pixelCrossEntropyBackward}) {
    const Kernel kernel{kind, {1, 3, 2, 2, 0, 2, 2, ignored}};
    failures += refusal(kernel, device, {0, ignored, 2, 1}).empty() ? 0 : 1;
    failures += refusal(kernel, device, {0, ignored, 2, 7}).find(expected) == 0 ? 0 : 1;
  }
  std::printf("%s: labels of pixels, %d failures\n", name.c_str(), failures);
  return failures;
}

}  // namespace tilefold::test
