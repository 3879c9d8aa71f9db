// cuBLAS by plain loops, of the functions in cublas_api.hpp.
#include <cstring>
#include <type_traits>
#include <vector>

#include "../../src/cuda/libraries/cublas_api.hpp"
#include "objects.hpp"
#include "runtime.hpp"
#include "tensor_core.hpp"

namespace tilefold::cuda::cublas {

struct HandleObject {
  cudaStream_t stream = nullptr;
  std::byte* workspace = nullptr;
  std::size_t workspaceBytes = 0;
  MathMode mode{};
  bool prepared = false;
};

}  // namespace tilefold::cuda::cublas

using namespace tilefold::cuda::cublas;

namespace {

constexpr Status invalidValue{7}, notInitialised{1}, notSupported{15};
constexpr std::size_t scribbled = 4096;  // bytes of the workspace that a product uses

// A column-major matrix as an operand: op(data)[row, column].
struct Matrix {
  const void* data;
  DataType type;
  Operation operation;
  std::size_t stride;

  float at(std::size_t row, std::size_t column) const {
    return tilefold::emulated::elementAt(data, type, operation == Operation::none ? row + column * stride : column + row * stride);
  }
};

bool fits(Operation operation, int rows, int columns, int stride) { return stride >= (operation == Operation::none ? rows : columns); }

// The types that the manual lists, as far as they are here.
bool supported(DataType a, DataType b, DataType c, ComputeType computed) {
  if (a != b) return false;
  return a == DataType::bfloat16 ? computed == ComputeType::float32 : c == DataType::float32;
}

}  // namespace

extern "C" {

const char* cublasGetStatusString(Status status) {
  return status == Status::success ? "success"
         : status == invalidValue  ? "an invalid value"
         : status == notSupported  ? "not supported"
                                   : "not initialised";
}

Status cublasCreate_v2(Handle* handle) { return tilefold::emulated::create<Status>(handle); }
Status cublasDestroy_v2(Handle handle) { return tilefold::emulated::destroy<Status>(handle); }
Status cublasGetVersion_v2(Handle, int* version) {
  *version = 130000;
  return Status::success;
}
Status cublasSetStream_v2(Handle handle, cudaStream_t stream) {
  handle->stream = stream;
  handle->workspace = nullptr;
  return Status::success;
}
Status cublasSetWorkspace_v2(Handle handle, void* workspace, std::size_t bytes) {
  handle->workspace = static_cast<std::byte*>(workspace);
  handle->workspaceBytes = bytes;
  return Status::success;
}
Status cublasSetMathMode(Handle handle, MathMode mode) {
  handle->mode = mode;
  return Status::success;
}

// Without a workspace of the caller's, sums would not be the same at every launch; without wide
// reductions, not those of float32.
Status cublasGemmEx(Handle handle, Operation a, Operation b, int m, int n, int k, const void* alpha, const void* aData, DataType aType,
                    int aStride, const void* bData, DataType bType, int bStride, const void* beta, void* cData, DataType cType, int cStride,
                    ComputeType computed, GemmAlgorithm) {
  if (m < 0 || n < 0 || k < 0 || !fits(a, m, k, aStride) || !fits(b, k, n, bStride) || cStride < m) return invalidValue;
  if (!supported(aType, bType, cType, computed)) return notSupported;
  if (handle->workspace == nullptr || handle->workspaceBytes < 2 * scribbled) return notInitialised;
  if (handle->mode != MathMode::wideReductions) return notInitialised;
  cudaStreamCaptureStatus capture{};
  cudaStreamIsCapturing(handle->stream, &capture);
  if (capture != cudaStreamCaptureStatusNone && !handle->prepared) return notInitialised;
  handle->prepared = true;
  const auto size = [](int number) { return static_cast<std::size_t>(number); };
  const auto work = [left = Matrix{aData, aType, a, size(aStride)}, right = Matrix{bData, bType, b, size(bStride)}, rows = size(m),
                     columns = size(n), inner = size(k), factor = *static_cast<const float*>(alpha),
                     kept = *static_cast<const float*>(beta), cData, cType, stride = size(cStride), workspace = handle->workspace,
                     bytes = handle->workspaceBytes, rounds = computed == ComputeType::tf32] {
    std::memset(workspace, 0xFF, scribbled);
    std::memset(workspace + bytes - scribbled, 0xFF, scribbled);
    const auto value = [rounds](float number) { return static_cast<double>(rounds ? tilefold::emulated::tf32(number) : number); };
    std::vector<double> row(inner);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t l = 0; l < inner; ++l) row[l] = value(left.at(i, l));
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < inner; ++l) sum += row[l] * value(right.at(l, j));
        const std::size_t at = i + j * stride;
        double product = static_cast<double>(factor) * sum;
        if (kept != 0) product += static_cast<double>(kept) * static_cast<double>(tilefold::emulated::elementAt(cData, cType, at));
        tilefold::emulated::setElement(cData, cType, at, product);
      }
    }
  };
  return tilefold::emulated::enqueue(handle->stream, work) == cudaSuccess ? Status::success : notInitialised;
}

}  // extern "C"

#define TILEFOLD_SAME(name, result, arguments) static_assert(std::is_same_v<decltype(&name), result(*) arguments>);
TILEFOLD_CUBLAS_FUNCTIONS(TILEFOLD_SAME)
#undef TILEFOLD_SAME
