// What a kernel finds wrong with its operands; the host reads it after the section.
#pragma once
#include "context.hpp"

namespace tilefold::cuda {

__device__ inline void recordFault(Fault* fault, const Fault& found) {
  if (atomicCAS(&fault->kind, static_cast<std::int32_t>(FaultKind::none), found.kind) != 0) return;
  fault->row = found.row;
  fault->label = found.label;
  fault->classes = found.classes;
  fault->ignored = found.ignored;
}

}  // namespace tilefold::cuda
