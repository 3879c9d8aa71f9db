#include "kernel_decoder.hpp"

#include "check_kernel.hpp"
#include "../whole.hpp"

namespace tilefold {

std::vector<Kernel> decodeKernels(const std::vector<double>& numbers) {
  std::vector<Kernel> kernels;
  std::size_t next = 0;
  while (next < numbers.size()) {
    const std::string position = "kernel " + std::to_string(kernels.size());
    const std::int64_t code = wholeNumber(position + "'s code", numbers[next++]);
    if (code < 0 || code >= static_cast<std::int64_t>(kernelTable().size()))
      throw Failure(position + " has the unknown code " + std::to_string(code));
    Kernel kernel;
    kernel.kind = static_cast<KernelKind>(code);
    const std::size_t count = numberCount(kernelInfo(kernel.kind), numbers.begin() + static_cast<std::ptrdiff_t>(next), numbers.end());
    if (numbers.size() - next < count) throw Failure(position + " (" + kernelInfo(kernel.kind).name + ") is cut off");
    kernel.fields.assign(numbers.begin() + static_cast<std::ptrdiff_t>(next), numbers.begin() + static_cast<std::ptrdiff_t>(next + count));
    next += count;
    try {
      checkKernel(kernel);
    } catch (const Failure& failure) {
      throw Failure(position + ", " + failure.what());
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace tilefold
