// The part of cuDNN 9's C interface that this uses, declared here so that a build needs no headers
// of cuDNN: the library is opened at run time (libraries.hpp). test/cuda_headers_test.cpp holds
// every value and signature against the real headers.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

namespace tilefold::cuda::cudnn {

using Handle = struct HandleObject*;  // cudnnHandle_t, and so on
using TensorDescriptor = struct TensorDescriptorObject*;
using FilterDescriptor = struct FilterDescriptorObject*;
using ConvolutionDescriptor = struct ConvolutionDescriptorObject*;

enum class Status : int { success = 0 };
enum class DataType : int { float32 = 0, bfloat16 = 9 };
enum class TensorFormat : int { nchw = 0, nhwc = 1 };
enum class ConvolutionMode : int { crossCorrelation = 1 };
// `standard` allows tf32 products of float32 values, `tensorCores` products of values as they are
// stored.
enum class MathType : int { standard = 0, tensorCores = 1, fma = 3 };
enum class Determinism : int { deterministic = 1 };

enum class ForwardAlgorithm : int {
  implicitGemm,
  implicitPrecomputedGemm,
  gemm,
  direct,
  fft,
  fftTiling,
  winograd,
  winogradNonfused,
  count
};
enum class BackwardDataAlgorithm : int { atomic, implicitGemm, fft, fftTiling, winograd, winogradNonfused, count };
enum class BackwardFilterAlgorithm : int { atomic, implicitGemm, fft, atomicPrecomputed, winograd, winogradNonfused, fftTiling, count };

// What a heuristic says of an algorithm; cuDNN has one such struct a direction, alike but for the
// type of `algorithm`.
template <class Algorithm>
struct Performance {
  Algorithm algorithm;
  Status status;
  float milliseconds;
  std::size_t workspaceBytes;
  Determinism determinism;
  MathType math;
  int reserved[3];
};

// X(name, result, arguments) for each function.
#define TILEFOLD_CUDNN_FUNCTIONS(X)                                                                                                       \
  X(cudnnGetVersion, std::size_t, ())                                                                                                     \
  X(cudnnGetErrorString, const char*, (Status status))                                                                                    \
  X(cudnnGetLastErrorString, void, (char* message, std::size_t size))                                                                     \
  X(cudnnCreate, Status, (Handle*))                                                                                                       \
  X(cudnnDestroy, Status, (Handle handle))                                                                                                \
  X(cudnnSetStream, Status, (Handle handle, cudaStream_t stream))                                                                         \
  X(cudnnCreateTensorDescriptor, Status, (TensorDescriptor*))                                                                             \
  X(cudnnDestroyTensorDescriptor, Status, (TensorDescriptor descriptor))                                                                  \
  X(cudnnSetTensor4dDescriptor, Status, (TensorDescriptor descriptor, TensorFormat, DataType, int n, int c, int h, int w))                \
  X(cudnnCreateFilterDescriptor, Status, (FilterDescriptor*))                                                                             \
  X(cudnnDestroyFilterDescriptor, Status, (FilterDescriptor descriptor))                                                                  \
  X(cudnnSetFilter4dDescriptor, Status, (FilterDescriptor descriptor, DataType, TensorFormat, int k, int c, int h, int w))                \
  X(cudnnCreateConvolutionDescriptor, Status, (ConvolutionDescriptor*))                                                                   \
  X(cudnnDestroyConvolutionDescriptor, Status, (ConvolutionDescriptor descriptor))                                                        \
  X(cudnnSetConvolution2dDescriptor, Status,                                                                                              \
    (ConvolutionDescriptor descriptor, int padHeight, int padWidth, int strideHeight, int strideWidth, int dilationHeight,                \
     int dilationWidth, ConvolutionMode, DataType))                                                                                       \
  X(cudnnSetConvolutionGroupCount, Status, (ConvolutionDescriptor descriptor, int groups))                                                \
  X(cudnnSetConvolutionMathType, Status, (ConvolutionDescriptor descriptor, MathType))                                                    \
  X(cudnnGetConvolution2dForwardOutputDim, Status,                                                                                        \
    (ConvolutionDescriptor convolution, TensorDescriptor source, FilterDescriptor weights, int* n, int* c, int* h, int* w))               \
  X(cudnnGetConvolutionForwardAlgorithm_v7, Status,                                                                                       \
    (Handle handle, TensorDescriptor source, FilterDescriptor weights, ConvolutionDescriptor convolution, TensorDescriptor destination,   \
     int requested, int* returned, Performance<ForwardAlgorithm>* results))                                                               \
  X(cudnnGetConvolutionForwardWorkspaceSize, Status,                                                                                      \
    (Handle handle, TensorDescriptor source, FilterDescriptor weights, ConvolutionDescriptor convolution, TensorDescriptor destination,   \
     ForwardAlgorithm, std::size_t * bytes))                                                                                              \
  X(cudnnConvolutionForward, Status,                                                                                                      \
    (Handle handle, const void* alpha, TensorDescriptor source, const void* sourceData, FilterDescriptor weights, const void* weightData, \
     ConvolutionDescriptor convolution, ForwardAlgorithm, void* workspace, std::size_t workspaceBytes, const void* beta,                  \
     TensorDescriptor destination, void* destinationData))                                                                                \
  X(cudnnGetConvolutionBackwardDataAlgorithm_v7, Status,                                                                                  \
    (Handle handle, FilterDescriptor weights, TensorDescriptor destination, ConvolutionDescriptor convolution, TensorDescriptor source,   \
     int requested, int* returned, Performance<BackwardDataAlgorithm>* results))                                                          \
  X(cudnnGetConvolutionBackwardDataWorkspaceSize, Status,                                                                                 \
    (Handle handle, FilterDescriptor weights, TensorDescriptor destination, ConvolutionDescriptor convolution, TensorDescriptor source,   \
     BackwardDataAlgorithm, std::size_t * bytes))                                                                                         \
  X(cudnnConvolutionBackwardData, Status,                                                                                                 \
    (Handle handle, const void* alpha, FilterDescriptor weights, const void* weightData, TensorDescriptor destination,                    \
     const void* destinationGradient, ConvolutionDescriptor convolution, BackwardDataAlgorithm, void* workspace,                          \
     std::size_t workspaceBytes, const void* beta, TensorDescriptor source, void* sourceGradient))                                        \
  X(cudnnGetConvolutionBackwardFilterAlgorithm_v7, Status,                                                                                \
    (Handle handle, TensorDescriptor source, TensorDescriptor destination, ConvolutionDescriptor convolution, FilterDescriptor weights,   \
     int requested, int* returned, Performance<BackwardFilterAlgorithm>* results))                                                        \
  X(cudnnGetConvolutionBackwardFilterWorkspaceSize, Status,                                                                               \
    (Handle handle, TensorDescriptor source, TensorDescriptor destination, ConvolutionDescriptor convolution, FilterDescriptor weights,   \
     BackwardFilterAlgorithm, std::size_t * bytes))                                                                                       \
  X(cudnnConvolutionBackwardFilter, Status,                                                                                               \
    (Handle handle, const void* alpha, TensorDescriptor source, const void* sourceData, TensorDescriptor destination,                     \
     const void* destinationGradient, ConvolutionDescriptor convolution, BackwardFilterAlgorithm, void* workspace,                        \
     std::size_t workspaceBytes, const void* beta, FilterDescriptor weights, void* weightGradient))

}  // namespace tilefold::cuda::cudnn
