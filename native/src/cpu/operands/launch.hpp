// A compiled kernel of the CPU device as a function of its resolved operands.
#pragma once
#include <functional>
#include <string>

#include "../../device.hpp"
#include "../../kernels/bfloat16.hpp"

namespace tilefold::cpu {

using Launch = std::function<void(const std::vector<Operand>&, const StepParameters&)>;

struct Implementation {
  Launch launch;
  std::string name;  // "jit:avx512_core" and the like are oneDNN's
};

// The operand's elements; null when it is absent.
template <class T = float>
T* elements(const std::vector<Operand>& operands, std::size_t position) {
  return reinterpret_cast<T*>(operands[position].address);
}

}  // namespace tilefold::cpu
