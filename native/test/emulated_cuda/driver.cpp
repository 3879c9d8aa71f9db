// The driver's functions of driver_api.hpp: pages are files that are memory, and addresses without
// one end who touches them.
#include "../../src/cuda/libraries/driver_api.hpp"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "runtime.hpp"

namespace {

constexpr std::size_t granularity = std::size_t{1} << 21;

bool isWhole(std::size_t bytes) { return bytes > 0 && bytes % granularity == 0; }
void* memoryAt(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult nowhere(CUdeviceptr address, std::size_t bytes, int fixed) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed;
  return mmap(memoryAt(address), bytes, PROT_NONE, flags, -1, 0) == MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult describe(CUresult, const char** text) {
  *text = "an error of the emulated driver";
  return CUDA_SUCCESS;
}
CUresult least(std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = granularity;
  return CUDA_SUCCESS;
}
CUresult create(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp*, unsigned long long) {
  if (!isWhole(bytes)) return CUDA_ERROR_INVALID_VALUE;
  const int file = memfd_create("page", MFD_CLOEXEC);
  if (file == -1) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = static_cast<CUmemGenericAllocationHandle>(file);
  return ftruncate(file, static_cast<off_t>(bytes)) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult release(CUmemGenericAllocationHandle handle) {
  return close(static_cast<int>(handle)) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult reserve(CUdeviceptr* address, std::size_t bytes, std::size_t, CUdeviceptr, unsigned long long) {
  if (!isWhole(bytes)) return CUDA_ERROR_INVALID_VALUE;
  void* const range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  tilefold::emulated::addDeviceAddresses(range, bytes);
  *address = reinterpret_cast<CUdeviceptr>(range);
  return CUDA_SUCCESS;
}
CUresult freeAddresses(CUdeviceptr address, std::size_t bytes) {
  tilefold::emulated::removeDeviceAddresses(memoryAt(address));
  return munmap(memoryAt(address), bytes) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult map(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle, unsigned long long) {
  if (!isWhole(bytes) || offset != 0) return CUDA_ERROR_INVALID_VALUE;
  void* const mapped = mmap(memoryAt(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, static_cast<int>(handle), 0);
  return mapped == MAP_FAILED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult setAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc*, std::size_t) {
  return mprotect(memoryAt(address), bytes, PROT_READ | PROT_WRITE) == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult unmap(CUdeviceptr address, std::size_t bytes) {
  return isWhole(bytes) ? nowhere(address, bytes, MAP_FIXED) : CUDA_ERROR_INVALID_VALUE;
}

struct Entry {
  const char* name;
  void* function;
};

}  // namespace

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned, unsigned long long,
                                                        cudaDriverEntryPointQueryResult* result) {
  const Entry entries[] = {{"cuGetErrorString", reinterpret_cast<void*>(describe)},
                           {"cuMemAddressFree", reinterpret_cast<void*>(freeAddresses)},
                           {"cuMemAddressReserve", reinterpret_cast<void*>(reserve)},
                           {"cuMemCreate", reinterpret_cast<void*>(create)},
                           {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(least)},
                           {"cuMemMap", reinterpret_cast<void*>(map)},
                           {"cuMemRelease", reinterpret_cast<void*>(release)},
                           {"cuMemSetAccess", reinterpret_cast<void*>(setAccess)},
                           {"cuMemUnmap", reinterpret_cast<void*>(unmap)}};
  *found = nullptr;
  *result = cudaDriverEntryPointSymbolNotFound;
  for (const Entry& entry : entries) {
    if (std::strcmp(entry.name, name) != 0) continue;
    *found = entry.function;
    *result = cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}
