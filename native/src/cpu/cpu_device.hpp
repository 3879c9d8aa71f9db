// The CPU: float32 or bf16, activations in blocks of channels, convolutions by oneDNN, the rest by
// our own loops.
#pragma once
#include <memory>

#include "../device.hpp"

namespace tilefold {

// `threads` is set on every thread that asks or launches. Not to be used by two threads at once.
std::unique_ptr<Device> makeCpuDevice(Precision precision, int threads);

// What runs a kernel: a name of oneDNN's ("jit:avx512_core"), one of our own convolutions'
// ("winograd", "strips", "block sums", "blocks" and others), else "tilefold" or "reference".
std::string cpuImplementationName(Precision precision, const Kernel& kernel, int threads);

}  // namespace tilefold
