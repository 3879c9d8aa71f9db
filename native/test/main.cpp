// Decoder, interpreter and devices without Node, for the sanitizers:
// tilefold_test [factor] [device [precision ...] ...]
// runs so many times the cases (0.5: half of them) on the devices named, in float32, and again in
// the precisions behind each, `tf32` (products alone) and `bf16` (where none is named: reference
// bf16 cpu bf16). `cuda` is the GPU, or what it is emulated by (emulated_cuda/runtime.hpp).
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "devices.hpp"
#include "tests.hpp"

int main(int count, char** arguments) {
  using namespace tilefold;
  omp_set_num_threads(2);
  const double factor = count > 1 ? std::atof(arguments[1]) : 1;
  const auto times = [factor](int cases) { return static_cast<int>(std::ceil(cases * factor)); };
  int failures = test::checkArena() + test::checkAvailableMemory() + test::checkExponential();
  std::vector<std::string> names(arguments + std::min(count, 2), arguments + count);
  if (names.empty()) names = {"reference", "bf16", "cpu", "bf16"};
  std::string last;
  for (const std::string& argument : names) {
    const bool tf32 = argument == "tf32", bf16 = argument == "bf16";
    if (!tf32 && !bf16) last = argument;
    const std::string name = tf32 || bf16 ? last + " " + argument : last;
    const std::unique_ptr<Device> device = makeDevice({last, bf16 ? Precision::bf16 : Precision::float32, 2, tf32});
    const std::optional<DeviceProperties> gpu = device->properties();
    // In tf32 products alone differ from float32, which came before.
    if (!bf16 && !tf32) {
      // Which writes to operands while kernels read them, and so needs memory of the machine's own.
      if (!gpu || gpu->name.rfind("emulated", 0) == 0) failures += test::checkHostileKernels(name, *device);
      failures += test::checkLabels(name, *device);
      failures += test::checkResampledTiles(name, *device, times(200));
    }
    if (bf16) failures += test::checkPooledSums(name, *device);
    // cuDNN writes even gradients of weights in bf16, half of 2^-8 from what they are.
    const double ofProducts = tf32 ? 2e-2 : bf16 ? 4e-3 : 2e-5;
    // A program takes an emulated GPU ten times as long.
    // Large kernels run on the reference device wherever another is compared with it.
    const auto compared = tf32 ? test::Kernels::products : last == "reference" ? test::Kernels::small : test::Kernels::all;
    failures += test::compareDevice(name, *device, times(gpu ? 15 : 40), compared, ofProducts);
    if (!tf32) failures += test::fuzzPrograms(name, *device, times(gpu ? 10 : 110));
  }
  return failures == 0 ? 0 : 1;
}
