// Linear layers by cuBLAS: row-major [batch, in] and [batch, out] with weights [out, in].
#pragma once
#include <memory>

#include "../../device.hpp"
#include "../../kernels/kernel_fields.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

// `kind` is one of the three linear kernels. Throws Failure for sizes of 2^31 or more.
std::unique_ptr<CompiledKernel> compileLinear(KernelKind kind, const Linear& l, const Context& context);

}  // namespace tilefold::cuda
