// What a kernel finds wrong with its operands; the host reads it after the section.
#pragma once
#include "context.hpp"

namespace tilefold::cuda {

__device__ inline void recordFault(Fault* fault, FaultKind kind, std::int64_t row = 0, std::int64_t label = 0, std::int64_t classes = 0) {
  if (atomicCAS(&fault->kind, static_cast<std::int32_t>(FaultKind::none), static_cast<std::int32_t>(kind)) != 0) return;
  fault->row = row;
  fault->label = label;
  fault->classes = classes;
}

}  // namespace tilefold::cuda
