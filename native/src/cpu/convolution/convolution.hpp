// Which implementation and which weight layouts a convolution gets: oneDNN's direct kernels, else
// our own.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

// T: float or Bfloat16. `kind` is one of the three convolutions; the recipe depends on nothing but
// the kernel and the number of threads.
template <class T>
std::size_t convolutionScratchBytes(KernelKind kind, const Convolution& c, int threads);
template <class T>
Implementation compileConvolution(KernelKind kind, const Convolution& c, int threads);

// The layouts for which oneDNN has a compiled kernel, else plain. Both ignore the layouts of `c`
// but for the forward source.
template <class T>
Device::WeightLayouts convolutionWeightLayouts(const Convolution& c);

}  // namespace tilefold::cpu
