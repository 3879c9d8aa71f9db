// An NVIDIA GPU: float32 or bf16, convolutions by cuDNN, matrices by cuBLAS, the rest by our own
// kernels.
#pragma once
#include <memory>

#include "../device.hpp"

namespace tilefold {

// The first GPU that CUDA shows (CUDA_VISIBLE_DEVICES), with activations of float32 or bf16.
// `tf32`: products of float32 may be computed with 10 bits of mantissa, in layouts made for that.
// Throws Failure, saying what is missing and where it was looked for.
std::unique_ptr<Device> makeCudaDevice(Precision precision, bool tf32);

}  // namespace tilefold
