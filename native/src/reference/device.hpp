// The reference device: every kernel by its definition, the oracle for the others.
#pragma once
#include <memory>

#include "../device.hpp"

namespace tilefold {

std::unique_ptr<Device> makeReferenceDevice(Precision precision);

namespace reference {

// Any kernel, with activations of float, double or Bfloat16; other devices use it for what they do
// not specialise. Throws Failure for convolution weights or activations that are not plain.
template <class T>
std::unique_ptr<CompiledKernel> compile(const Kernel& kernel);

}  // namespace reference
}  // namespace tilefold
