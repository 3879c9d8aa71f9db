// Marks what kernels of a GPU call too.
#pragma once

#ifdef __CUDACC__
#define TILEFOLD_HOST_DEVICE __host__ __device__
#else
#define TILEFOLD_HOST_DEVICE
#endif
