#ifdef __x86_64__
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdlib>
#include <dnnl.hpp>

#include "processor.hpp"

namespace tilefold::cpu {

std::string instructionSet() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41:
      return "sse41";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
      return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "avx512_core_amx";
#if DNNL_VERSION_MAJOR >= 3
    case dnnl_cpu_isa_avx2_vnni_2:
      return "avx2_vnni_2";
    case dnnl_cpu_isa_avx512_core_fp16:
      return "avx512_core_fp16";
    case dnnl_cpu_isa_avx512_core_amx_fp16:
      return "avx512_core_amx_fp16";
#endif
    default:
      return "instruction set " + std::to_string(static_cast<int>(dnnl_get_effective_cpu_isa()));
  }
}

namespace {

bool has(dnnl::cpu_isa wanted) {
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa()), all = static_cast<unsigned>(wanted);
  return (isa & all) == all;
}

#if defined(__linux__) && !defined(TILEFOLD_EMULATED_AMX)
// Linux saves the matrix registers of the processes alone that ask for it, for all their threads.
bool isAllowedMatrices() {
  constexpr int requestPermission = 0x1023, matrixRegisters = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, requestPermission, matrixRegisters) == 0;
}
#endif

}  // namespace

bool multipliesBf16() {
  static const bool does = has(dnnl::cpu_isa::avx512_core_bf16);
  return does;
}

bool multipliesPairs() { return multipliesBf16() && !multipliesMatrices(); }

bool multipliesMatrices() {
#ifdef TILEFOLD_EMULATED_AMX
  static const bool does = machineBlock() == 16 && std::getenv("TILEFOLD_EMULATED_AMX") != nullptr;
#elif defined(__linux__)
  static const bool does = has(dnnl::cpu_isa::avx512_core_amx) && isAllowedMatrices();
#else
  static const bool does = false;
#endif
  return does;
}

std::int64_t machineBlock() {
  static const std::int64_t block = has(dnnl::cpu_isa::avx512_core) && __builtin_cpu_supports("avx512cd") ? 16 : 8;
  return block;
}

#ifndef TILEFOLD_THIS_PROCESSOR
bool usesAvx512() { return machineBlock() == 16; }
#endif

const char* lackingInstructions() {
  const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  return has ? nullptr : "AVX2 and FMA (x86-64-v3), which Intel's processors have since Haswell and AMD's since Excavator";
}

}  // namespace tilefold::cpu
#endif
