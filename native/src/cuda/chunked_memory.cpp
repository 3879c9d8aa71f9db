#include "chunked_memory.hpp"

#include "check.hpp"

namespace tilefold::cuda {
namespace {

void checkDriver(const DriverApi& driver, CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  const char* reason = nullptr;
  driver.cuGetErrorString(status, &reason);
  const std::string sentence = std::string("CUDA: ") + what + " failed (" + (reason == nullptr ? "for an unknown reason" : reason) + ")";
  if (status == CUDA_ERROR_OUT_OF_MEMORY) throw NoMemory(sentence + ": give a smaller budget");
  throw Failure(sentence);
}

CUmemAllocationProp ofTheGpu() {
  int device = 0;
  check(cudaGetDevice(&device), "asking which GPU is used");
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

std::size_t checked(const DriverApi& driver, std::size_t chunkBytes) {
  const CUmemAllocationProp properties = ofTheGpu();
  std::size_t least = 0;
  checkDriver(driver, driver.cuMemGetAllocationGranularity(&least, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              "asking for a chunk's size");
  if (chunkBytes % least != 0)
    throw Failure("chunks of " + std::to_string(chunkBytes) + " bytes are no multiple of the " + std::to_string(least) +
                  " that this GPU maps: plan with chunks of such a size");
  return chunkBytes;
}

}  // namespace

DriverApi driverApi() {
  DriverApi driver;
#define TILEFOLD_FIND(name)                                                                                                          \
  {                                                                                                                                  \
    void* found = nullptr;                                                                                                           \
    cudaDriverEntryPointQueryResult result{};                                                                                        \
    check(cudaGetDriverEntryPointByVersion(#name, &found, CUDART_VERSION, cudaEnableDefault, &result), "asking the driver for " #name); \
    if (found == nullptr) throw Failure("the NVIDIA driver has no " #name ": install a newer one, or place buffers by static");       \
    driver.name = reinterpret_cast<decltype(driver.name)>(found);                                                                    \
  }
  TILEFOLD_DRIVER_FUNCTIONS(TILEFOLD_FIND)
#undef TILEFOLD_FIND
  return driver;
}

ChunkedMemory::Handles::Handles(const DriverApi& driver, std::size_t count, std::size_t chunkBytes) : driver_(driver) {
  const CUmemAllocationProp properties = ofTheGpu();
  handles_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    CUmemGenericAllocationHandle handle{};
    const CUresult status = driver.cuMemCreate(&handle, chunkBytes, &properties, 0);
    if (status != CUDA_SUCCESS) release();
    checkDriver(driver, status, "taking the arena of the device's memory");
    handles_.push_back(handle);
  }
}

ChunkedMemory::Handles::~Handles() { release(); }

void ChunkedMemory::Handles::release() const {
  for (const CUmemGenericAllocationHandle handle : handles_) static_cast<void>(driver_.cuMemRelease(handle));
}

ChunkedMemory::Range::Range(const DriverApi& driver, std::size_t bytes, std::size_t chunkBytes)
    : driver_(driver), bytes_(bytes), chunkBytes_(chunkBytes) {
  if (bytes > 0) checkDriver(driver, driver.cuMemAddressReserve(&first_, bytes, 0, 0, 0), "reserving addresses");
}

ChunkedMemory::Range::~Range() {
  for (const std::size_t address : mapped_) static_cast<void>(driver_.cuMemUnmap(first_ + address, chunkBytes_));
  if (bytes_ > 0) static_cast<void>(driver_.cuMemAddressFree(first_, bytes_));
}

void ChunkedMemory::Range::map(std::size_t address, const Handles& chunks, std::size_t memory, std::size_t bytes) {
  if (bytes == 0) return;
  for (std::size_t at = 0; at < bytes; at += chunkBytes_) {
    checkDriver(driver_, driver_.cuMemMap(first_ + address + at, chunkBytes_, 0, chunks[(memory + at) / chunkBytes_], 0),
                "mapping a chunk");
    mapped_.insert(address + at);
  }
  CUmemAccessDesc access{};
  access.location = ofTheGpu().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  checkDriver(driver_, driver_.cuMemSetAccess(first_ + address, bytes, &access, 1), "giving access to chunks");
}

void ChunkedMemory::Range::unmap(std::size_t address, std::size_t bytes) {
  checkDriver(driver_, driver_.cuMemUnmap(first_ + address, bytes), "unmapping chunks");
  mapped_.erase(mapped_.lower_bound(address), mapped_.lower_bound(address + bytes));
}

void ChunkedMemory::Range::unmapFrom(std::size_t address) {
  while (!mapped_.empty() && *mapped_.rbegin() >= address) unmap(*mapped_.rbegin(), chunkBytes_);
}

ChunkedMemory::ChunkedMemory(const Chunks& chunks, std::size_t bytes)
    : driver_(driverApi()),
      chunkBytes_(checked(driver_, chunks.chunkBytes)),
      residentBytes_(chunks.residentBytes),
      chunks_(driver_, bytes / chunkBytes_, chunkBytes_),
      whole_(driver_, wholeBytes(), chunkBytes_),
      addresses_(driver_, chunks.addressBytes, chunkBytes_) {
  whole_.map(0, chunks_, 0, wholeBytes());
  addresses_.map(0, chunks_, 0, residentBytes_);
}

}  // namespace tilefold::cuda
