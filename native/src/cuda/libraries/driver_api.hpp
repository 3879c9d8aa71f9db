// The part of CUDA's driver interface that maps memory to addresses, found in the driver at run
// time: nothing links to it.
#pragma once
#include <cuda.h>

namespace tilefold::cuda {

#define TILEFOLD_DRIVER_FUNCTIONS(X) \
  X(cuGetErrorString)                \
  X(cuMemAddressFree)                \
  X(cuMemAddressReserve)             \
  X(cuMemCreate)                     \
  X(cuMemGetAllocationGranularity)   \
  X(cuMemMap)                        \
  X(cuMemRelease)                    \
  X(cuMemSetAccess)                  \
  X(cuMemUnmap)

struct DriverApi {
#define TILEFOLD_MEMBER(name) decltype(&::name) name = nullptr;
  TILEFOLD_DRIVER_FUNCTIONS(TILEFOLD_MEMBER)
#undef TILEFOLD_MEMBER
};

// Throws Failure, a sentence, where the driver lacks one.
DriverApi driverApi();

}  // namespace tilefold::cuda
