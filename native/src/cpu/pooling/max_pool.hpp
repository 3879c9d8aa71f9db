// Max pooling in blocked layouts, which carries NaN as the reference does (oneDNN's loses it);
// `indices` is one byte an element.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../operands/launch.hpp"

namespace tilefold::cpu {

std::size_t maxPoolIndicesBytes(const Pool& p);
// T: float or Bfloat16.
template <class T>
Implementation compileMaxPool(KernelKind kind, const Pool& p);

}  // namespace tilefold::cpu
