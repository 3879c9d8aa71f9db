// Which implementation and which weight layouts a convolution gets: oneDNN's direct kernels, else
// our own.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "launch.hpp"

namespace tilefold::cpu {

// `kind` is one of the three convolutions; the recipe depends on nothing but the kernel and the
// number of threads.
std::size_t convolutionScratchBytes(KernelKind kind, const Convolution& c, int threads);
Implementation compileConvolution(KernelKind kind, const Convolution& c, int threads);

// The layouts for which oneDNN has a compiled kernel, else plain. Both ignore the layouts of `c`
// but for the forward source.
Device::WeightLayouts convolutionWeightLayouts(const Convolution& c);

}  // namespace tilefold::cpu
