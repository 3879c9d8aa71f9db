#include "devices.hpp"

#include <dnnl.h>

#include "cpu/cpu_device.hpp"
#include "reference/device.hpp"

namespace tilefold {
namespace {

std::unique_ptr<Device> makeCpu(Precision precision, int threads) {
  if (precision != Precision::float32) throw Failure("the cpu device computes in float32 only: use the reference device for float64");
  return makeCpuDevice(threads);
}

std::string nameOf(dnnl_cpu_isa_t set) {
  switch (set) {
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
    default:
      return "instruction set " + std::to_string(static_cast<int>(set));
  }
}

}  // namespace

std::unique_ptr<Device> makeDevice(const std::string& name, Precision precision, int threads) {
  if (name == "reference") return makeReferenceDevice(precision);
  if (name == "cpu") return makeCpu(precision, threads);
  throw Failure("there is no device '" + name + "': use cpu or reference");
}

LibraryVersion cpuLibrary() {
  const dnnl_version_t* version = dnnl_version();
  return {"oneDNN", std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch),
          nameOf(dnnl_get_effective_cpu_isa())};
}

}  // namespace tilefold
