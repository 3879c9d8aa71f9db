// cuDNN 9 and cuBLAS 12 or 13, opened at run time, with a handle each on the compute stream.
#pragma once
#include <memory>
#include <string>
#include <type_traits>

#include "../context/context.hpp"
#include "cublas_api.hpp"
#include "cudnn_graph_api.hpp"

namespace tilefold::cuda {

// An object of a library, which destroys it.
template <class Object, class Status>
struct Destroy {
  Status (*function)(Object) = nullptr;
  void operator()(Object object) const { function(object); }
};
template <class Object, class Status>
using Owned = std::unique_ptr<std::remove_pointer_t<Object>, Destroy<Object, Status>>;

// Bytes of device memory that cuBLAS works in, as it recommends; a buffer of its own makes its sums
// the same at every launch.
constexpr std::size_t blasWorkspaceBytes(int computeCapability) { return std::size_t{computeCapability >= 9 ? 32U : 4U} << 20; }

class Libraries {
 public:
  // Of the current CUDA device; what is launched through the handles is enqueued on `compute`.
  // Throws Failure when a library is missing or too old, and NoMemory when the device has no room
  // for cuBLAS's workspace.
  explicit Libraries(cudaStream_t compute);

  const cudnn::Api& dnn() const { return dnn_; }
  const cublas::Api& blas() const { return blas_; }
  cudnn::Handle dnnHandle() const { return dnnHandle_.get(); }
  cublas::Handle blasHandle() const { return blasHandle_.get(); }
  // Such as 'cuDNN 9.24.0, cuBLAS 13.1.1'.
  std::string versions() const;

  // Throw Failure, naming what was tried, unless the call succeeded.
  void check(cudnn::Status status, const char* what) const;
  void check(cublas::Status status, const char* what) const;

 private:
  struct Free {
    void operator()(void* memory) const { cudaFree(memory); }
  };

  cudnn::Api dnn_;
  cublas::Api blas_;
  Owned<cudnn::Handle, cudnn::Status> dnnHandle_;
  std::unique_ptr<void, Free> blasWorkspace_;
  Owned<cublas::Handle, cublas::Status> blasHandle_;
};

// As activations are stored, and what is multiplied with them.
inline cudnn::DataType storedType(const Context& context) {
  return context.precision == Precision::bf16 ? cudnn::DataType::bfloat16 : cudnn::DataType::float32;
}

}  // namespace tilefold::cuda
