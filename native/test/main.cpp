// Decoder, interpreter and devices without Node, for the sanitizers: tilefold_test [factor] [device ...], which runs that many times the
// cases on the devices named (reference, bf16 and cpu where none is). `bf16` is the reference device with activations of bf16; `cuda` and
// `tf32` are the GPU, or what it is emulated by (emulated_cuda/runtime.hpp).
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "devices.hpp"
#include "tests.hpp"

int main(int count, char** arguments) {
  using namespace tilefold;
  omp_set_num_threads(2);
  const int factor = count > 1 ? std::atoi(arguments[1]) : 1;
  int failures = test::checkArena();
  std::vector<std::string> names(arguments + std::min(count, 2), arguments + count);
  if (names.empty()) names = {"reference", "bf16", "cpu"};
  for (const std::string& name : names) {
    const bool tf32 = name == "tf32", bf16 = name == "bf16";
    const Precision precision = bf16 ? Precision::bf16 : Precision::float32;
    const std::unique_ptr<Device> device = makeDevice({tf32 ? "cuda" : bf16 ? "reference" : name, precision, 2, tf32});
    const std::optional<DeviceProperties> gpu = device->properties();
    if (!bf16) {
      // Which writes to operands while kernels read them, and so needs memory of the machine's own.
      if (!gpu || gpu->name.rfind("emulated", 0) == 0) failures += test::checkHostileKernels(name, *device);
      failures += test::checkLabels(name, *device);
      failures += test::checkResampledTiles(name, *device, 200 * factor);
    }
    // A program takes an emulated GPU ten times as long.
    failures += test::compareDevice(name, *device, (gpu ? 15 : 40) * factor, tf32 || bf16 ? 2e-2 : 2e-5);
    failures += test::fuzzPrograms(name, *device, (gpu ? 10 : 110) * factor);
  }
  return failures == 0 ? 0 : 1;
}
