#include "devices.hpp"

#include "cpu/convolution/onednn.hpp"
#include "cpu/cpu_device.hpp"
#include "cpu/processor/processor.hpp"
#ifdef TILEFOLD_CUDA
#include "cuda/cuda_device.hpp"
#endif
#include "reference/device.hpp"

namespace tilefold {
namespace {

std::unique_ptr<Device> makeCpu(Precision precision, int threads) {
  if (precision == Precision::float64) throw Failure("the cpu device computes in float32 or bf16: use the reference device for float64");
  if (const char* lacking = cpu::lackingInstructions())
    throw Failure(std::string("the cpu device needs ") + lacking + "; this processor has none: use the reference device, which is slow");
  return makeCpuDevice(precision, threads);
}

std::unique_ptr<Device> makeGpu(const DeviceChoice& choice) {
#ifdef TILEFOLD_CUDA
  if (choice.precision == Precision::float64)
    throw Failure("the cuda device computes in float32, TF32 or bf16: use the reference device for float64");
  if (choice.precision == Precision::bf16 && choice.tf32) throw Failure("TF32 is of products of float32: choose it or bf16");
  return makeCudaDevice(choice.precision, choice.tf32);
#else
  static_cast<void>(choice);
  throw Failure(
      "this addon was built without CUDA: install the package with CUDA, or build it with nvcc of the CUDA toolkit 13 on the path "
      "(docs/install.md), or use --device cpu");
#endif
}

}  // namespace

std::unique_ptr<Device> makeDevice(const DeviceChoice& choice) {
  if (choice.tf32 && choice.name != "cuda") throw Failure("only the cuda device computes in TF32");
  if (choice.name == "reference") return makeReferenceDevice(choice.precision);
  if (choice.name == "cpu") return makeCpu(choice.precision, static_cast<int>(choice.threads));
  if (choice.name == "cuda") return makeGpu(choice);
  throw Failure("there is no device '" + choice.name + "': use cpu, cuda or reference");
}

LibraryVersion cpuLibrary() { return {"oneDNN", cpu::oneDnnVersion(), cpu::instructionSet()}; }

}  // namespace tilefold
