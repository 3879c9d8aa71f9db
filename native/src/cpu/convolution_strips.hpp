// Convolutions of one group in blocks of 16 channels whose padding or dilation oneDNN has no
// compiled kernel for: strips of results stay in registers while whole blocks of channels are
// added. Weights are read as they lie, so there is no scratch.
#pragma once
#include "launch.hpp"
#include "strides.hpp"

namespace tilefold::cpu {

// The layout of the weights that these kernels read.
Layout stripWeightLayout(KernelKind kind);

// Whether they do this kernel: a forward convolution, or a gradient of the input without strides
// along rows.
bool fitsStrips(KernelKind kind, const Convolution& c);
// The results' bits do not depend on `threads`.
Launch compileStripConvolution(KernelKind kind, const Convolution& c, int threads);

}  // namespace tilefold::cpu
