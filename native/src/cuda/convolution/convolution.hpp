// Convolutions by cuDNN, with explicit algorithms and all their memory in the scratch operand.
#pragma once
#include <memory>
#include <vector>

#include "../../device.hpp"
#include "../../kernels/kernel_fields.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

// `kind` is one of the three convolutions; all three functions throw Failure, a sentence, for one
// that the device cannot do. They ask cuDNN through the context's handle, so no other thread may
// use that meanwhile. Algorithms have codes 16 + cuDNN's number, of convolutionBackwardData also 32
// + cuDNN's number forward (rotated_weights.hpp), or those of engines (engine_configuration.hpp); 2
// is few_channels.hpp, 0 the first direct one.
std::unique_ptr<CompiledKernel> compileConvolution(KernelKind kind, const Convolution& c, const Context& context);
std::size_t convolutionScratchBytes(KernelKind kind, const Convolution& c, const Context& context);

// Those that give the same bits at every launch, fastest first: ours over few channels, then
// cuDNN's as its heuristics go. They are engines in tf32 and bf16, the one of the least scratch
// behind the others; else algorithms, those with rotated weights behind all others. The algorithm
// of `c` itself does not matter.
std::vector<Algorithm> convolutionAlgorithms(KernelKind kind, const Convolution& c, const Context& context);

}  // namespace tilefold::cuda
