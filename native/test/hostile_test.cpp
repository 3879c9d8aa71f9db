// Kernels that a decoder lets pass, on operands that nobody would plan: what they compute is
// anybody's guess, where they write is not.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "launch.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

// Launches again and again while another thread, as a copy that no event orders, changes one
// operand's 32-bit numbers between a sound and a wild value.
void raceOver(const Kernel& kernel, std::size_t operand, Device& device) {
  Operands operands = allocate(kernel, device, true);
  const StepParameters none;
  Placed placed(kernel, device, operands.operands, none);
  std::atomic<bool> done{false};
  std::thread changing([&] {
    auto* numbers = reinterpret_cast<volatile std::int32_t*>(placed.address(operand));
    while (!done)
      for (const std::int32_t value : {0, 1 << 30}) {
        for (std::size_t i = 0; i < operands.blocks[operand].bytes() / 4; ++i) numbers[i] = value;
        const auto changed = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - changed < std::chrono::microseconds(20)) {
        }
      }
  });
  // An emulated launch takes a hundred times as long.
  const int rounds = device.properties() ? 20 : 2000;
  for (int round = 0; round < rounds; ++round) {
    try {
      placed.launch();
    } catch (const Failure&) {
      // The wild value was seen.
    }
  }
  done = true;
  changing.join();
}

void launchOnce(const Kernel& kernel, Device& device) {
  const Operands operands = allocate(kernel, device, true);
  launch(kernel, device, operands.operands, {});
}

// A 2x2 input far inside its padding: [batch, channels, in, out, kernel, stride, dilation,
// padding], then the layout.
std::vector<double> farPadded() {
  const double padding = 0x1p40, kernel = 2 * padding;
  return {1, 1, 2, 2, 3, 3, kernel, kernel, 1, 1, 1, 1, padding, padding, padding, padding, 0};
}

}  // namespace

int checkHostileKernels(const std::string& name, Device& device) {
  raceOver({KernelKind::maxPoolBackward, {1, 1, 64, 64, 64, 64, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0}}, 1, device);
  raceOver({KernelKind::softmaxCrossEntropyForward, {512, 2, 512}}, 1, device);
  raceOver({KernelKind::softmaxCrossEntropyBackward, {512, 2, 512}}, 1, device);
  raceOver({KernelKind::pixelCrossEntropyForward, {1, 2, 16, 32, 0, 16, 32, 255}}, 1, device);
  raceOver({KernelKind::pixelCrossEntropyBackward, {1, 2, 16, 32, 0, 16, 32, 255}}, 1, device);
  alarm(60);  // a window of 2^82 places is no reason to take long
  launchOnce({KernelKind::maxPoolForward, farPadded()}, device);
  for (const KernelKind kind : {KernelKind::averagePoolForward, KernelKind::averagePoolBackward}) {
    Kernel pool{kind, farPadded()};
    pool.fields.insert(pool.fields.end(), {0, 0, 1});
    launchOnce(pool, device);
  }
  const double far = 0x1p30;
  launchOnce({KernelKind::adaptivePoolBackward, {1, 1, 2, 2, 1, 1, 0, far, far, 1, 1}}, device);
  launchOnce({KernelKind::resizeBackward, {1, 1, 2, 2, 3, 3, 0, 2, 2, far, far, 1, 0}}, device);
  for (const double mode : {0, 1, 2})
    launchOnce({KernelKind::padBackward, {1, 1, 2, 2, 1, 1, 0, far / 2, 2, far, 3, far / 4, 1, mode}}, device);
  launchOnce({KernelKind::pixelShuffle, {1, 1, 2, 2, 1, 1, 1000, 999, 0, 0, 0, 0}}, device);
  alarm(0);
  std::printf("%s: hostile kernels stayed inside\n", name.c_str());
  return 0;
}

}  // namespace tilefold::test
