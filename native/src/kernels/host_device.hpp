// Marks what kernels of a GPU call too.
#pragma once

#ifdef __CUDACC__
#define TILEFOLD_HOST_DEVICE __host__ __device__
#define TILEFOLD_HOST_DEVICE_INLINE __host__ __device__ __forceinline__
#else
#define TILEFOLD_HOST_DEVICE
#define TILEFOLD_HOST_DEVICE_INLINE inline __attribute__((always_inline))
#endif
