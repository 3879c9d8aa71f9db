#include "paged_memory.hpp"

#include "../context/check.hpp"

namespace tilefold::cuda {
namespace {

void checkDriver(const DriverApi& driver, CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  const char* reason = nullptr;
  driver.cuGetErrorString(status, &reason);
  const std::string sentence = std::string("CUDA: ") + what + " failed (" + (reason == nullptr ? "for an unknown reason" : reason) + ")";
  if (status == CUDA_ERROR_OUT_OF_MEMORY) throw NoMemory(sentence + ": give a budget, or a smaller one");
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

std::size_t checked(const DriverApi& driver, std::size_t pageBytes) {
  const CUmemAllocationProp properties = ofTheGpu();
  std::size_t least = 0;
  checkDriver(driver, driver.cuMemGetAllocationGranularity(&least, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
              "asking for a page's size");
  if (pageBytes % least != 0)
    throw Failure("pages of " + std::to_string(pageBytes) + " bytes are no multiple of the " + std::to_string(least) +
                  " that this GPU maps: plan with pages of such a size");
  return pageBytes;
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

PagedMemory::Handles::Handles(const DriverApi& driver, std::size_t count, std::size_t pageBytes) : driver_(driver) {
  const CUmemAllocationProp properties = ofTheGpu();
  handles_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    CUmemGenericAllocationHandle handle{};
    const CUresult status = driver.cuMemCreate(&handle, pageBytes, &properties, 0);
    if (status != CUDA_SUCCESS) release();
    checkDriver(driver, status, "taking the arena of the device's memory");
    handles_.push_back(handle);
  }
}

PagedMemory::Handles::~Handles() { release(); }

void PagedMemory::Handles::release() const {
  for (const CUmemGenericAllocationHandle handle : handles_) static_cast<void>(driver_.cuMemRelease(handle));
}

PagedMemory::Range::Range(const DriverApi& driver, std::size_t bytes, std::size_t pageBytes)
    : driver_(driver), bytes_(bytes), pageBytes_(pageBytes) {
  if (bytes > 0) checkDriver(driver, driver.cuMemAddressReserve(&first_, bytes, 0, 0, 0), "reserving addresses");
}

PagedMemory::Range::~Range() {
  for (const std::size_t address : mapped_) static_cast<void>(driver_.cuMemUnmap(first_ + address, pageBytes_));
  if (bytes_ > 0) static_cast<void>(driver_.cuMemAddressFree(first_, bytes_));
}

void PagedMemory::Range::map(std::size_t address, const Handles& pages, std::size_t memory, std::size_t bytes) {
  if (bytes == 0) return;
  for (std::size_t at = 0; at < bytes; at += pageBytes_) {
    checkDriver(driver_, driver_.cuMemMap(first_ + address + at, pageBytes_, 0, pages[(memory + at) / pageBytes_], 0),
                "mapping a page");
    mapped_.insert(address + at);
  }
  CUmemAccessDesc access{};
  access.location = ofTheGpu().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  checkDriver(driver_, driver_.cuMemSetAccess(first_ + address, bytes, &access, 1), "giving access to pages");
}

void PagedMemory::Range::unmap(std::size_t address, std::size_t bytes) {
  checkDriver(driver_, driver_.cuMemUnmap(first_ + address, bytes), "unmapping pages");
  mapped_.erase(mapped_.lower_bound(address), mapped_.lower_bound(address + bytes));
}

void PagedMemory::Range::unmapFrom(std::size_t address) {
  while (!mapped_.empty() && *mapped_.rbegin() >= address) unmap(*mapped_.rbegin(), pageBytes_);
}

PagedMemory::PagedMemory(const Pages& pages, std::size_t bytes)
    : driver_(driverApi()),
      pageBytes_(checked(driver_, pages.pageBytes)),
      residentBytes_(pages.residentBytes),
      pages_(driver_, bytes / pageBytes_, pageBytes_),
      whole_(driver_, wholeBytes(), pageBytes_),
      addresses_(driver_, pages.addressBytes, pageBytes_) {
  whole_.map(0, pages_, 0, wholeBytes());
  addresses_.map(0, pages_, 0, residentBytes_);
}

}  // namespace tilefold::cuda
