#ifdef __x86_64__
#include "onednn.hpp"
#include "processor.hpp"

namespace tilefold::cpu {

bool usesAvx512() {
  static const bool uses = machineBlock() == 16 && __builtin_cpu_supports("avx512cd");
  return uses;
}

const char* lackingInstructions() {
  const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  return has ? nullptr : "AVX2 and FMA (x86-64-v3), which Intel's processors have since Haswell and AMD's since Excavator";
}

}  // namespace tilefold::cpu
#endif
