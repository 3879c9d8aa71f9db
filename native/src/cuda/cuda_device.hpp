// An NVIDIA GPU: float32, convolutions by cuDNN, matrices by cuBLAS, the rest by our own kernels.
#pragma once
#include <memory>

#include "../device.hpp"

namespace tilefold {

// The first GPU that CUDA shows (CUDA_VISIBLE_DEVICES). `tf32`: products may be computed with 10 bits of mantissa, in layouts made for that.
// Throws Failure, saying what is missing and where it was looked for.
std::unique_ptr<Device> makeCudaDevice(bool tf32);

}  // namespace tilefold
