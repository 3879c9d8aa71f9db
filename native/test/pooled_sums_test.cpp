// Windows of a pool overlap: what an element is given by all of them is summed in float32 or more,
// and rounded once.
#include <cstdio>
#include <cstring>
#include <vector>

#include "buffers.hpp"
#include "kernels/bfloat16.hpp"
#include "launch.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

// 3x3 windows at each of 3x3 elements: all nine hold the one in the middle.
const std::vector<double> overlapping{1, 1, 3, 3, 3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 0};
constexpr std::size_t middle = 4;

void set(const Block& block, std::size_t element, float value) {
  reinterpret_cast<Bfloat16*>(block.data())[element] = static_cast<Bfloat16>(value);
}

// 256 and eight times 1, which bf16, whose neighbours are 2 apart there, would each lose.
void setGradients(const Block& block) {
  for (std::size_t output = 0; output < 9; ++output) set(block, output, output == 0 ? 256.0F : 1.0F);
}

float middleOf(const Block& block) { return static_cast<float>(reinterpret_cast<const Bfloat16*>(block.data())[middle]); }

float maxPooled(Device& device) {
  const Kernel forward{KernelKind::maxPoolForward, overlapping}, backward{KernelKind::maxPoolBackward, overlapping};
  const Operands from = allocate(forward, device, false), gradients = allocate(backward, device, false);
  for (std::size_t element = 0; element < 9; ++element) set(from.blocks[0], element, element == middle ? 1.0F : 0.0F);
  launch(forward, device, from.operands, {});
  setGradients(gradients.blocks[0]);
  std::memcpy(gradients.blocks[1].data(), from.blocks[2].data(), from.blocks[2].bytes());
  launch(backward, device, gradients.operands, {});
  return middleOf(gradients.blocks[2]);
}

float averagePooled(Device& device) {
  std::vector<double> fields = overlapping;
  for (const double field : {0, 0, 1}) fields.push_back(field);
  const Kernel backward{KernelKind::averagePoolBackward, fields};
  const Operands gradients = allocate(backward, device, false);
  setGradients(gradients.blocks[0]);
  launch(backward, device, gradients.operands, {});
  return middleOf(gradients.blocks[1]);
}

}  // namespace

int checkPooledSums(const std::string& name, Device& device) {
  const auto rounded = [](float value) { return static_cast<float>(static_cast<Bfloat16>(value)); };
  const int failures = (maxPooled(device) == 264.0F ? 0 : 1) + (averagePooled(device) == rounded(264.0F / 9) ? 0 : 1);
  std::printf("%s: sums of overlapping windows, %d failures\n", name.c_str(), failures);
  return failures;
}

}  // namespace tilefold::test
