// The part of cuBLAS's C interface (12 and 13 alike) that this uses, declared here as cudnn_api.hpp
// does.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

namespace tilefold::cuda::cublas {

using Handle = struct HandleObject*;  // cublasHandle_t

enum class Status : int { success = 0 };
enum class MathMode : int { wideReductions = 16 };  // partial sums are as wide as the ComputeType
enum class DataType : int { float32 = 0, bfloat16 = 14 };
enum class ComputeType : int { float32 = 68, pedanticFloat32 = 69, tf32 = 77 };
enum class GemmAlgorithm : int { standard = -1 };
enum class Operation : int { none = 0, transpose = 1 };

// X(name, result, arguments) for each function.
#define TILEFOLD_CUBLAS_FUNCTIONS(X)                                                                                                  \
  X(cublasGetStatusString, const char*, (Status status))                                                                              \
  X(cublasCreate_v2, Status, (Handle*))                                                                                               \
  X(cublasDestroy_v2, Status, (Handle handle))                                                                                        \
  X(cublasGetVersion_v2, Status, (Handle handle, int* version))                                                                       \
  X(cublasSetStream_v2, Status, (Handle handle, cudaStream_t stream))                                                                 \
  X(cublasSetWorkspace_v2, Status, (Handle handle, void* workspace, std::size_t bytes))                                               \
  X(cublasSetMathMode, Status, (Handle handle, MathMode mode))                                                                        \
  X(cublasGemmEx, Status,                                                                                                             \
    (Handle handle, Operation a, Operation b, int m, int n, int k, const void* alpha, const void* aData, DataType aType, int aStride, \
     const void* bData, DataType bType, int bStride, const void* beta, void* cData, DataType cType, int cStride, ComputeType,         \
     GemmAlgorithm))

struct Api {
#define TILEFOLD_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
  TILEFOLD_CUBLAS_FUNCTIONS(TILEFOLD_MEMBER)
#undef TILEFOLD_MEMBER
};

}  // namespace tilefold::cuda::cublas
