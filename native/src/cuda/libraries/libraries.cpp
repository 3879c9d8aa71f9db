#include "libraries.hpp"

#include <array>

#include "../context/check.hpp"
#include "shared_library.hpp"

namespace tilefold::cuda {
namespace {

// major * 10000 + minor * 100 + patch, as both libraries number themselves.
std::string versionText(std::size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

}  // namespace

Libraries::Libraries(cudaStream_t compute) {
  const auto folders = libraryFolders();
  // cuDNN's parts look for these three by name and find what is loaded already.
  SharedLibrary::find({"libcublasLt.so.13", "libcublasLt.so.12"}, folders);
  const SharedLibrary blas = SharedLibrary::open("cuBLAS", {"libcublas.so.13", "libcublas.so.12"}, folders);
  SharedLibrary::find({"libnvrtc.so.13", "libnvrtc.so.12"}, folders);
  const SharedLibrary dnn = SharedLibrary::open("cuDNN 9", {"libcudnn.so.9"}, folders);
#define TILEFOLD_RESOLVE(name, result, arguments) blas.resolve(#name, blas_.name);
  TILEFOLD_CUBLAS_FUNCTIONS(TILEFOLD_RESOLVE)
#undef TILEFOLD_RESOLVE
#define TILEFOLD_RESOLVE(name, result, arguments) dnn.resolve(#name, dnn_.name);
  TILEFOLD_CUDNN_FUNCTIONS(TILEFOLD_RESOLVE)
  TILEFOLD_CUDNN_GRAPH_FUNCTIONS(TILEFOLD_RESOLVE)
#undef TILEFOLD_RESOLVE
  if (dnn_.cudnnGetVersion() < 90000)
    throw Failure("the cuda device needs cuDNN 9, but libcudnn.so.9 says that it is " + versionText(dnn_.cudnnGetVersion()));

  cudnn::Handle dnnHandle = nullptr;
  check(dnn_.cudnnCreate(&dnnHandle), "opening cuDNN");
  dnnHandle_ = {dnnHandle, {dnn_.cudnnDestroy}};
  check(dnn_.cudnnSetStream(dnnHandle, compute), "setting cuDNN's stream");

  int device = 0, capability = 0;
  cuda::check(cudaGetDevice(&device), "asking for the current device");
  cuda::check(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device), "asking for the compute capability");
  const std::size_t bytes = blasWorkspaceBytes(capability);
  void* workspace = nullptr;
  cuda::check(cudaMalloc(&workspace, bytes), "allocating cuBLAS's workspace");
  blasWorkspace_.reset(workspace);
  cublas::Handle blasHandle = nullptr;
  check(blas_.cublasCreate_v2(&blasHandle), "opening cuBLAS");
  blasHandle_ = {blasHandle, {blas_.cublasDestroy_v2}};
  check(blas_.cublasSetStream_v2(blasHandle, compute), "setting cuBLAS's stream");
  // After the stream, which takes the workspace away again.
  check(blas_.cublasSetWorkspace_v2(blasHandle, workspace, bytes), "setting cuBLAS's workspace");
  check(blas_.cublasSetMathMode(blasHandle, cublas::MathMode::wideReductions), "setting cuBLAS's math mode");
}

std::string Libraries::versions() const {
  int blasVersion = 0;
  check(blas_.cublasGetVersion_v2(blasHandle_.get(), &blasVersion), "asking cuBLAS for its version");
  return "cuDNN " + versionText(dnn_.cudnnGetVersion()) + ", cuBLAS " + versionText(static_cast<std::size_t>(blasVersion));
}

void Libraries::check(cudnn::Status status, const char* what) const {
  if (status == cudnn::Status::success) return;
  std::array<char, 512> detail{};
  dnn_.cudnnGetLastErrorString(detail.data(), detail.size());
  throw Failure(std::string("cuDNN: ") + what + " failed (" + dnn_.cudnnGetErrorString(status) +
                (detail[0] == '\0' ? "" : std::string(", ") + detail.data()) + ")");
}

void Libraries::check(cublas::Status status, const char* what) const {
  if (status == cublas::Status::success) return;
  throw Failure(std::string("cuBLAS: ") + what + " failed (" + blas_.cublasGetStatusString(status) + ")");
}

}  // namespace tilefold::cuda
