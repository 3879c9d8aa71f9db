// cuDNN 9 by plain loops, of the functions in cudnn_api.hpp. It answers several algorithms, whose
// sums are the same but whose workspaces differ and are written all over, and refuses what cuDNN's
// manual does not list.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "convolution.hpp"
#include "objects.hpp"
#include "runtime.hpp"

using namespace tilefold::emulated;

namespace {

Status describe(Shape& shape, TensorFormat format, DataType type, int n, int c, int h, int w) {
  if (type != DataType::float32 && type != DataType::bfloat16) return refuse(badParameter, "an unknown type");
  if (n <= 0 || c <= 0 || h <= 0 || w <= 0) return refuse(badParameter, "a tensor without elements");
  if (format != TensorFormat::nchw && format != TensorFormat::nhwc) return refuse(badParameter, "an unknown format");
  shape = {format, type, n, c, h, w};
  return elements(shape) < (std::size_t{1} << 31) ? Status::success : refuse(notSupported, "a tensor of 2^31 elements");
}

enum class Method { implicitGemm, precomputedGemm, gemm, direct, fft, fftTiling, winograd, winogradNonfused, atomic, atomicPrecomputed };

Method methodOf(ForwardAlgorithm a) {
  constexpr std::array methods{Method::implicitGemm, Method::precomputedGemm, Method::gemm,     Method::direct,
                               Method::fft,          Method::fftTiling,       Method::winograd, Method::winogradNonfused};
  return methods[static_cast<std::size_t>(a)];
}
Method methodOf(BackwardDataAlgorithm a) {
  constexpr std::array methods{Method::atomic,    Method::implicitGemm, Method::fft,
                               Method::fftTiling, Method::winograd,     Method::winogradNonfused};
  return methods[static_cast<std::size_t>(a)];
}
Method methodOf(BackwardFilterAlgorithm a) {
  constexpr std::array methods{Method::atomic,   Method::implicitGemm,     Method::fft,      Method::atomicPrecomputed,
                               Method::winograd, Method::winogradNonfused, Method::fftTiling};
  return methods[static_cast<std::size_t>(a)];
}

bool supported(const Problem& p, Method method) {
  const bool planes = p.source.format == TensorFormat::nchw, forward = p.direction == Direction::forward;
  const bool dense = p.window.dilation == std::array{1, 1}, each = dense && p.window.stride == std::array{1, 1};
  const bool square = p.weights.h == p.weights.w, three = square && p.weights.h == 3;
  const bool padded = p.window.before[0] < p.weights.h && p.window.before[1] < p.weights.w;
  const bool wide = p.source.type == DataType::float32;
  switch (method) {
    case Method::implicitGemm:
    case Method::precomputedGemm:
      return true;
    case Method::atomic:
      return planes;
    case Method::atomicPrecomputed:
      return planes && dense;
    case Method::gemm:
      return forward && planes && dense;
    case Method::direct:
      return false;
    case Method::fft:
      return wide && planes && each && padded && p.window.groups == 1 && p.in(0) + 2 * p.window.before[0] <= 256 &&
             p.in(1) + 2 * p.window.before[1] <= 256;
    case Method::fftTiling:
      return wide && planes && each && padded && p.weights.h <= 32 && p.weights.w <= 32;
    case Method::winograd:
      return wide && p.direction != Direction::backwardFilter && planes && each && three;
    case Method::winogradNonfused:
      return planes && each && (three || (forward && square && p.weights.h == 5));
  }
  return false;
}

// Of the real library's order of magnitude, different for each, and none a multiple of a page.
std::size_t workspaceOf(const Problem& p, Method method) {
  const std::size_t weights = elements(p.weights), source = elements(p.source), destination = elements(p.destination);
  switch (method) {
    case Method::implicitGemm:
      return p.direction == Direction::backwardFilter ? weights * 8 + 20 : 0;
    case Method::precomputedGemm:
      return size(p.destination.h) * size(p.destination.w) * 8 + 12;
    case Method::gemm:
      return size(p.weights.c) * size(p.weights.h) * size(p.weights.w) * size(p.destination.h) * size(p.destination.w) * 4;
    case Method::fft:
      return (weights + source + destination) * 16 + 4;
    case Method::fftTiling:
      return (weights + source + destination) * 6 + 100;
    case Method::winograd:
      return weights * 2 + 36;
    case Method::winogradNonfused:
      return (weights + source + destination) * 5 + 8;
    case Method::atomicPrecomputed:
      return weights * 4;
    case Method::atomic:
    case Method::direct:
      return 0;
  }
  return 0;
}

template <class Algorithm>
Status workspaceSize(const Problem& p, Algorithm algorithm, std::size_t* bytes) {
  if (const Status status = check(p); status != Status::success) return status;
  if (algorithm >= Algorithm::count) return refuse(badParameter, "an unknown algorithm");
  if (!supported(p, methodOf(algorithm))) return refuse(notSupported, "an algorithm that cannot do this convolution");
  *bytes = workspaceOf(p, methodOf(algorithm));
  return Status::success;
}

template <class Algorithm>
Status run(Handle handle, const Problem& p, Algorithm algorithm, void* workspace, std::size_t workspaceBytes, const void* alpha,
           const void* beta, const void* source, const void* weights, const void* destination, void* result) {
  std::size_t needed = 0;
  if (const Status status = workspaceSize(p, algorithm, &needed); status != Status::success) return status;
  if (workspaceBytes < needed) return refuse(badParameter, "a workspace that is too small");
  if (needed > 0 && misplaced(workspace)) return refuse(badParameter, "a workspace at no multiple of 16 bytes");
  if (misplaced(source) || misplaced(weights) || misplaced(destination)) return refuse(badParameter, "a tensor at no multiple of 16 bytes");
  const std::pair prepared(p.direction, static_cast<int>(algorithm));
  cudaStreamCaptureStatus capture{};
  cudaStreamIsCapturing(handle->stream, &capture);
  if (capture != cudaStreamCaptureStatusNone && handle->prepared.count(prepared) == 0)
    return refuse(notInitialised, "the first call of an algorithm was captured");
  handle->prepared.insert(prepared);

  return enqueueProduct(handle, p, workspace, needed, *static_cast<const float*>(alpha), *static_cast<const float*>(beta),
                        {source, weights, destination, result});
}

// All that can do it, the fastest first and tensor cores before none; then those that cannot.
template <class Algorithm>
Status answers(const Problem& p, int requested, int* returned, Performance<Algorithm>* results) {
  if (const Status status = check(p); status != Status::success) return status;
  std::vector<Performance<Algorithm>> able, unable;
  for (int i = static_cast<int>(Algorithm::count) - 1; i >= 0; --i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const Method method = methodOf(algorithm);
    const bool can = supported(p, method), atomic = method == Method::atomic || method == Method::atomicPrecomputed;
    Performance<Algorithm> one{algorithm,
                               can ? Status::success : notSupported,
                               can ? 1.0F + static_cast<float>(able.size()) : -1.0F,
                               can ? workspaceOf(p, method) : 0,
                               static_cast<Determinism>(atomic ? 0 : 1),
                               p.window.math,
                               {}};
    (can ? able : unable).push_back(one);
    if (!can || p.window.math == MathType::fma) continue;
    one.math = MathType::fma;
    able.push_back(one);
  }
  able.insert(able.end(), unable.begin(), unable.end());
  *returned = std::min(requested, static_cast<int>(able.size()));
  std::copy_n(able.begin(), *returned, results);
  return Status::success;
}

Problem problem(Direction direction, TensorDescriptor source, FilterDescriptor weights, ConvolutionDescriptor window,
                TensorDescriptor destination) {
  return {*source, *weights, *destination, *window, direction};
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() { return 90000; }
const char* cudnnGetErrorString(Status status) {
  return status == Status::success  ? "success"
         : status == badParameter   ? "a bad parameter"
         : status == notInitialised ? "not initialised"
                                    : "not supported";
}
void cudnnGetLastErrorString(char* message, std::size_t bytes) {
  std::strncpy(message, lastError(), bytes - 1);
  message[bytes - 1] = '\0';
}
Status cudnnCreate(Handle* handle) { return tilefold::emulated::create<Status>(handle); }
Status cudnnDestroy(Handle handle) { return tilefold::emulated::destroy<Status>(handle); }
Status cudnnSetStream(Handle handle, cudaStream_t stream) {
  handle->stream = stream;
  return Status::success;
}

Status cudnnCreateTensorDescriptor(TensorDescriptor* descriptor) { return tilefold::emulated::create<Status>(descriptor); }
Status cudnnDestroyTensorDescriptor(TensorDescriptor descriptor) { return tilefold::emulated::destroy<Status>(descriptor); }
Status cudnnSetTensor4dDescriptor(TensorDescriptor descriptor, TensorFormat format, DataType type, int n, int c, int h, int w) {
  return describe(*descriptor, format, type, n, c, h, w);
}
Status cudnnCreateFilterDescriptor(FilterDescriptor* descriptor) { return tilefold::emulated::create<Status>(descriptor); }
Status cudnnDestroyFilterDescriptor(FilterDescriptor descriptor) { return tilefold::emulated::destroy<Status>(descriptor); }
Status cudnnSetFilter4dDescriptor(FilterDescriptor descriptor, DataType type, TensorFormat format, int k, int c, int h, int w) {
  return describe(*descriptor, format, type, k, c, h, w);
}
Status cudnnCreateConvolutionDescriptor(ConvolutionDescriptor* descriptor) { return tilefold::emulated::create<Status>(descriptor); }
Status cudnnDestroyConvolutionDescriptor(ConvolutionDescriptor descriptor) { return tilefold::emulated::destroy<Status>(descriptor); }
Status cudnnSetConvolution2dDescriptor(ConvolutionDescriptor descriptor, int padHeight, int padWidth, int strideHeight, int strideWidth,
                                       int dilationHeight, int dilationWidth, ConvolutionMode mode, DataType type) {
  if (padHeight < 0 || padWidth < 0 || strideHeight <= 0 || strideWidth <= 0 || dilationHeight <= 0 || dilationWidth <= 0 ||
      mode != ConvolutionMode::crossCorrelation || type != DataType::float32)
    return refuse(badParameter, "a window's numbers");
  descriptor->before = descriptor->after = {padHeight, padWidth};
  descriptor->stride = {strideHeight, strideWidth};
  descriptor->dilation = {dilationHeight, dilationWidth};
  return Status::success;
}
Status cudnnSetConvolutionGroupCount(ConvolutionDescriptor descriptor, int groups) {
  if (groups <= 0) return refuse(badParameter, "groups");
  descriptor->groups = groups;
  return Status::success;
}
Status cudnnSetConvolutionMathType(ConvolutionDescriptor descriptor, MathType math) {
  descriptor->math = math;
  return Status::success;
}
Status cudnnGetConvolution2dForwardOutputDim(ConvolutionDescriptor window, TensorDescriptor source, FilterDescriptor weights, int* n,
                                             int* c, int* h, int* w) {
  const Problem p = problem(Direction::forward, source, weights, window, source);
  if (const Status status = checkParts(p); status != Status::success) return status;
  *n = p.source.n;
  *c = p.weights.n;
  *h = p.out(0);
  *w = p.out(1);
  return Status::success;
}

Status cudnnGetConvolutionForwardAlgorithm_v7(Handle, TensorDescriptor source, FilterDescriptor weights, ConvolutionDescriptor window,
                                              TensorDescriptor destination, int requested, int* returned,
                                              Performance<ForwardAlgorithm>* results) {
  return answers(problem(Direction::forward, source, weights, window, destination), requested, returned, results);
}
Status cudnnGetConvolutionForwardWorkspaceSize(Handle, TensorDescriptor source, FilterDescriptor weights, ConvolutionDescriptor window,
                                               TensorDescriptor destination, ForwardAlgorithm algorithm, std::size_t* bytes) {
  return workspaceSize(problem(Direction::forward, source, weights, window, destination), algorithm, bytes);
}
Status cudnnConvolutionForward(Handle handle, const void* alpha, TensorDescriptor source, const void* sourceData, FilterDescriptor weights,
                               const void* weightData, ConvolutionDescriptor window, ForwardAlgorithm algorithm, void* workspace,
                               std::size_t workspaceBytes, const void* beta, TensorDescriptor destination, void* destinationData) {
  return run(handle, problem(Direction::forward, source, weights, window, destination), algorithm, workspace, workspaceBytes, alpha, beta,
             sourceData, weightData, destinationData, destinationData);
}

Status cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle, FilterDescriptor weights, TensorDescriptor destination,
                                                   ConvolutionDescriptor window, TensorDescriptor source, int requested, int* returned,
                                                   Performance<BackwardDataAlgorithm>* results) {
  return answers(problem(Direction::backwardData, source, weights, window, destination), requested, returned, results);
}
Status cudnnGetConvolutionBackwardDataWorkspaceSize(Handle, FilterDescriptor weights, TensorDescriptor destination,
                                                    ConvolutionDescriptor window, TensorDescriptor source, BackwardDataAlgorithm algorithm,
                                                    std::size_t* bytes) {
  return workspaceSize(problem(Direction::backwardData, source, weights, window, destination), algorithm, bytes);
}
Status cudnnConvolutionBackwardData(Handle handle, const void* alpha, FilterDescriptor weights, const void* weightData,
                                    TensorDescriptor destination, const void* destinationGradient, ConvolutionDescriptor window,
                                    BackwardDataAlgorithm algorithm, void* workspace, std::size_t workspaceBytes, const void* beta,
                                    TensorDescriptor source, void* sourceGradient) {
  return run(handle, problem(Direction::backwardData, source, weights, window, destination), algorithm, workspace, workspaceBytes, alpha,
             beta, sourceGradient, weightData, destinationGradient, sourceGradient);
}

Status cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle, TensorDescriptor source, TensorDescriptor destination,
                                                     ConvolutionDescriptor window, FilterDescriptor weights, int requested, int* returned,
                                                     Performance<BackwardFilterAlgorithm>* results) {
  return answers(problem(Direction::backwardFilter, source, weights, window, destination), requested, returned, results);
}
Status cudnnGetConvolutionBackwardFilterWorkspaceSize(Handle, TensorDescriptor source, TensorDescriptor destination,
                                                      ConvolutionDescriptor window, FilterDescriptor weights,
                                                      BackwardFilterAlgorithm algorithm, std::size_t* bytes) {
  return workspaceSize(problem(Direction::backwardFilter, source, weights, window, destination), algorithm, bytes);
}
Status cudnnConvolutionBackwardFilter(Handle handle, const void* alpha, TensorDescriptor source, const void* sourceData,
                                      TensorDescriptor destination, const void* destinationGradient, ConvolutionDescriptor window,
                                      BackwardFilterAlgorithm algorithm, void* workspace, std::size_t workspaceBytes, const void* beta,
                                      FilterDescriptor weights, void* weightGradient) {
  return run(handle, problem(Direction::backwardFilter, source, weights, window, destination), algorithm, workspace, workspaceBytes, alpha,
             beta, sourceData, weightGradient, destinationGradient, weightGradient);
}

}  // extern "C"

#define TILEFOLD_SAME(name, result, arguments) static_assert(std::is_same_v<decltype(&name), result(*) arguments>);
TILEFOLD_CUDNN_FUNCTIONS(TILEFOLD_SAME)
#undef TILEFOLD_SAME
