// cuBLAS by plain loops, of the functions in cublas_api.hpp.
#include "../../src/cuda/cublas_api.hpp"

#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime.hpp"
#include "tensor_core.hpp"

namespace tilefold::cuda::cublas {

struct HandleObject {
  cudaStream_t stream = nullptr;
  std::byte* workspace = nullptr;
  std::size_t workspaceBytes = 0;
  MathMode mode = MathMode::pedantic;
  bool prepared = false;
};

}  // namespace tilefold::cuda::cublas

using namespace tilefold::cuda::cublas;

namespace {

constexpr Status invalidValue{7}, notInitialised{1};
constexpr std::size_t scribbled = 4096;  // bytes of the workspace that a product uses

// A column-major matrix as an operand: op(data)[row, column].
struct Matrix {
  const float* data;
  Operation operation;
  std::size_t stride;

  std::size_t at(std::size_t row, std::size_t column) const {
    return operation == Operation::none ? row + column * stride : column + row * stride;
  }
};

bool fits(Operation operation, int rows, int columns, int stride) { return stride >= (operation == Operation::none ? rows : columns); }

}  // namespace

extern "C" {

const char* cublasGetStatusString(Status status) {
  return status == Status::success ? "success" : status == invalidValue ? "an invalid value" : "not initialised";
}

Status cublasCreate_v2(Handle* handle) {
  *handle = new HandleObject;
  return Status::success;
}
Status cublasDestroy_v2(Handle handle) {
  delete handle;
  return Status::success;
}
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

// Without a workspace of the caller's, sums would not be the same at every launch.
Status cublasSgemm_v2(Handle handle, Operation a, Operation b, int m, int n, int k, const float* alpha, const float* aData, int aStride,
                      const float* bData, int bStride, const float* beta, float* cData, int cStride) {
  if (m < 0 || n < 0 || k < 0 || !fits(a, m, k, aStride) || !fits(b, k, n, bStride) || cStride < m) return invalidValue;
  if (handle->workspace == nullptr || handle->workspaceBytes < 2 * scribbled) return notInitialised;
  cudaStreamCaptureStatus capture{};
  cudaStreamIsCapturing(handle->stream, &capture);
  if (capture != cudaStreamCaptureStatusNone && !handle->prepared) return notInitialised;
  handle->prepared = true;
  const auto size = [](int number) { return static_cast<std::size_t>(number); };
  const auto work = [left = Matrix{aData, a, size(aStride)}, right = Matrix{bData, b, size(bStride)}, rows = size(m), columns = size(n),
                     inner = size(k), factor = *alpha, kept = *beta, cData, stride = size(cStride), workspace = handle->workspace,
                     bytes = handle->workspaceBytes, rounds = handle->mode == MathMode::tf32] {
    std::memset(workspace, 0xFF, scribbled);
    std::memset(workspace + bytes - scribbled, 0xFF, scribbled);
    const auto value = [rounds](float number) { return static_cast<double>(rounds ? tilefold::emulated::tf32(number) : number); };
    std::vector<double> row(inner);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t l = 0; l < inner; ++l) row[l] = value(left.data[left.at(i, l)]);
      for (std::size_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < inner; ++l) sum += row[l] * value(right.data[right.at(l, j)]);
        float& result = cData[i + j * stride];
        const double product = static_cast<double>(factor) * sum;
        result = static_cast<float>(kept == 0 ? product : product + static_cast<double>(kept) * static_cast<double>(result));
      }
    }
  };
  return tilefold::emulated::enqueue(handle->stream, work) == cudaSuccess ? Status::success : notInitialised;
}

}  // extern "C"

#define TILEFOLD_SAME(name, result, arguments) static_assert(std::is_same_v<decltype(&name), result(*) arguments>);
TILEFOLD_CUBLAS_FUNCTIONS(TILEFOLD_SAME)
#undef TILEFOLD_SAME
