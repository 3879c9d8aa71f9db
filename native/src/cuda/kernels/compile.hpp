// Tilefold's own kernels for a cuda device: all but convolutions and linear layers.
#pragma once
#include <memory>

#include "../../device.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

// A launch enqueues on context.compute; `context` outlives the kernel. Throws Failure for a kind
// that is not its own and for layouts other than plain, nhwc (activations) and ohwi (weights).
std::unique_ptr<CompiledKernel> compileOwn(const Kernel& kernel, const Context& context);

}  // namespace tilefold::cuda
