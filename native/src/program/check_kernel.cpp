#include "check_kernel.hpp"

#include "kernel_checks.hpp"

namespace tilefold {
namespace {

void checkFields(const Kernel& kernel) {
  using CheckFamily = bool (*)(const Kernel&);
  constexpr CheckFamily families[] = {checkConvolution, checkLinear,   checkPointwise, checkPooling,  checkNormalisation,
                                      checkResampling,  checkMovement, checkLoss,      checkOptimizer,
                                      checkNormalisedConvolution};
  for (const CheckFamily checkFamily : families)
    if (checkFamily(kernel)) return;
  throw Failure("nothing says what its numbers must satisfy");
}

}  // namespace

void checkKernel(const Kernel& kernel) {
  const KernelInfo& info = kernelInfo(kernel.kind);
  const std::size_t count = numberCount(info, kernel.fields.begin(), kernel.fields.end());
  if (kernel.fields.size() != count)
    throw Failure(std::string(info.name) + " has " + std::to_string(count) + " fields, not " + std::to_string(kernel.fields.size()));
  try {
    checkFields(kernel);
  } catch (const Failure& failure) {
    throw Failure(std::string(info.name) + ": " + failure.what());
  }
}

}  // namespace tilefold
