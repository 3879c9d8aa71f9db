// cuDNN 9 by plain loops, of the functions in cudnn_api.hpp. It answers several algorithms, whose
// sums are the same but whose workspaces differ and are written all over, and refuses what cuDNN's
// manual does not list.
#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../src/cuda/cudnn_api.hpp"
#include "objects.hpp"
#include "runtime.hpp"
#include "tensor_core.hpp"

namespace tilefold::cuda::cudnn {

enum class Direction { forward, backwardData, backwardFilter };

struct HandleObject {
  cudaStream_t stream = nullptr;
  std::set<std::pair<Direction, int>> prepared;
};
// Of a filter: its outputs are n.
struct TensorDescriptorObject {
  TensorFormat format{};
  DataType type{};
  int n = 0, c = 0, h = 0, w = 0;
};
struct FilterDescriptorObject : TensorDescriptorObject {};
struct ConvolutionDescriptorObject {
  std::array<int, 2> padding{}, stride{1, 1}, dilation{1, 1};  // rows, columns
  int groups = 1;
  MathType math = MathType::standard;
};

}  // namespace tilefold::cuda::cudnn

using namespace tilefold::cuda::cudnn;

namespace {

using Shape = TensorDescriptorObject;
using Values = std::vector<double>;

constexpr Status badParameter{2000}, notSupported{3000}, notInitialised{1001};

thread_local std::string lastError;

Status refuse(Status status, const char* why) {
  lastError = why;
  return status;
}

std::size_t size(int number) { return static_cast<std::size_t>(number); }
std::size_t elements(const Shape& s) { return size(s.n) * size(s.c) * size(s.h) * size(s.w); }

Status describe(Shape& shape, TensorFormat format, DataType type, int n, int c, int h, int w) {
  if (type != DataType::float32 && type != DataType::bfloat16) return refuse(badParameter, "an unknown type");
  if (n <= 0 || c <= 0 || h <= 0 || w <= 0) return refuse(badParameter, "a tensor without elements");
  if (format != TensorFormat::nchw && format != TensorFormat::nhwc) return refuse(badParameter, "an unknown format");
  shape = {format, type, n, c, h, w};
  return elements(shape) < (std::size_t{1} << 31) ? Status::success : refuse(notSupported, "a tensor of 2^31 elements");
}

// visit(position in the tensor's own format) in the order of nchw.
template <class Visit>
void inPlanes(const Shape& s, const Visit& visit) {
  const std::size_t channels = size(s.c), pixels = size(s.h) * size(s.w);
  const bool last = s.format == TensorFormat::nhwc;
  for (std::size_t n = 0; n < size(s.n); ++n)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t pixel = 0; pixel < pixels; ++pixel)
        visit(last ? (n * pixels + pixel) * channels + c : (n * channels + c) * pixels + pixel);
}

Values planesOf(const Shape& shape, const void* data, bool rounds) {
  Values values(elements(shape));
  auto next = values.begin();
  inPlanes(shape, [&](std::size_t at) {
    const float value = tilefold::emulated::elementAt(data, shape.type, at);
    *next++ = static_cast<double>(rounds ? tilefold::emulated::tf32(value) : value);
  });
  return values;
}

struct Problem {
  Shape source, weights, destination;
  ConvolutionDescriptorObject window;
  Direction direction;

  int kernel(int axis) const { return axis == 0 ? weights.h : weights.w; }
  int in(int axis) const { return axis == 0 ? source.h : source.w; }
  int reach(int axis) const { return (kernel(axis) - 1) * window.dilation[size(axis)] + 1; }
  int out(int axis) const {
    const int slack = in(axis) + 2 * window.padding[size(axis)] - reach(axis);
    return slack < 0 ? 0 : slack / window.stride[size(axis)] + 1;
  }
};

Status checkParts(const Problem& p) {
  if (p.source.format != p.weights.format) return refuse(badParameter, "formats differ");
  if (p.source.type != p.weights.type) return refuse(badParameter, "types differ");
  if (p.source.type == DataType::bfloat16 && p.window.math != MathType::tensorCores)
    return refuse(notSupported, "bf16 without tensor cores");
  if (p.weights.c * p.window.groups != p.source.c || p.weights.n % p.window.groups != 0)
    return refuse(badParameter, "channels do not match");
  if (p.out(0) <= 0 || p.out(1) <= 0) return refuse(badParameter, "the window is larger than its padded input");
  return Status::success;
}

Status check(const Problem& p) {
  if (const Status parts = checkParts(p); parts != Status::success) return parts;
  const Shape& d = p.destination;
  if (d.format != p.source.format) return refuse(badParameter, "formats differ");
  if (d.type != p.source.type) return refuse(badParameter, "types differ");
  if (d.n != p.source.n || d.c != p.weights.n || d.h != p.out(0) || d.w != p.out(1))
    return refuse(badParameter, "the output's shape differs");
  return Status::success;
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
  const bool padded = p.window.padding[0] < p.weights.h && p.window.padding[1] < p.weights.w;
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
      return wide && planes && each && padded && p.window.groups == 1 && p.in(0) + 2 * p.window.padding[0] <= 256 &&
             p.in(1) + 2 * p.window.padding[1] <= 256;
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

// Row after row: body(first output column, end, its input column, input row, output row) of those
// inputs that one tap meets.
template <class Body>
void alongRows(const Problem& p, int ky, int kx, const Body& body) {
  const auto& w = p.window;
  const int left = kx * w.dilation[1] - w.padding[1];
  const int first = left >= 0 ? 0 : (-left + w.stride[1] - 1) / w.stride[1];
  const int end = p.in(1) > left ? std::min(p.destination.w, (p.in(1) - 1 - left) / w.stride[1] + 1) : 0;
  if (first >= end) return;
  for (int y = 0; y < p.destination.h; ++y) {
    const int row = y * w.stride[0] + ky * w.dilation[0] - w.padding[0];
    if (row >= 0 && row < p.in(0)) body(size(first), size(end), size(first * w.stride[1] + left), size(row), size(y));
  }
}

// The result of a direction in planes, of the other two tensors in planes (the result's own is
// empty).
Values convolve(const Problem& p, const Values& source, const Values& weights, const Values& destination) {
  const Shape& resultShape = p.direction == Direction::forward        ? p.destination
                             : p.direction == Direction::backwardData ? p.source
                                                                      : p.weights;
  Values result(elements(resultShape));
  const std::size_t inPixels = size(p.source.h) * size(p.source.w), outPixels = size(p.destination.h) * size(p.destination.w);
  const std::size_t inWidth = size(p.source.w), outWidth = size(p.destination.w), step = size(p.window.stride[1]);
  const int perGroup = p.weights.n / p.window.groups;
  for (int n = 0; n < p.source.n; ++n)
    for (int k = 0; k < p.weights.n; ++k)
      for (int c = 0; c < p.weights.c; ++c) {
        const std::size_t in = (size(n) * size(p.source.c) + size(k / perGroup * p.weights.c + c)) * inPixels;
        const std::size_t out = (size(n) * size(p.destination.c) + size(k)) * outPixels;
        for (int ky = 0; ky < p.weights.h; ++ky)
          for (int kx = 0; kx < p.weights.w; ++kx) {
            const std::size_t tap = ((size(k) * size(p.weights.c) + size(c)) * size(p.weights.h) + size(ky)) * size(p.weights.w) + size(kx);
            alongRows(p, ky, kx, [&](std::size_t first, std::size_t end, std::size_t column, std::size_t row, std::size_t y) {
              const std::size_t from = in + row * inWidth + column, to = out + y * outWidth;
              if (p.direction == Direction::forward) {
                for (std::size_t x = first; x < end; ++x) result[to + x] += weights[tap] * source[from + (x - first) * step];
              } else if (p.direction == Direction::backwardData) {
                for (std::size_t x = first; x < end; ++x) result[from + (x - first) * step] += weights[tap] * destination[to + x];
              } else {
                double sum = 0;
                for (std::size_t x = first; x < end; ++x) sum += destination[to + x] * source[from + (x - first) * step];
                result[tap] += sum;
              }
            });
          }
      }
  return result;
}

template <class Algorithm>
Status workspaceSize(const Problem& p, Algorithm algorithm, std::size_t* bytes) {
  if (const Status status = check(p); status != Status::success) return status;
  if (algorithm >= Algorithm::count) return refuse(badParameter, "an unknown algorithm");
  if (!supported(p, methodOf(algorithm))) return refuse(notSupported, "an algorithm that cannot do this convolution");
  *bytes = workspaceOf(p, methodOf(algorithm));
  return Status::success;
}

bool misplaced(const void* address) { return address == nullptr || reinterpret_cast<std::uintptr_t>(address) % 16 != 0; }

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

  const float factor = *static_cast<const float*>(alpha), kept = *static_cast<const float*>(beta);
  const auto work = [=] {
    // What lies there meanwhile is lost, before and after.
    const auto scribble = [&] { std::fill_n(static_cast<std::byte*>(workspace), needed, std::byte{0xFF}); };
    scribble();
    const bool rounds = p.window.math != MathType::fma;
    const auto read = [&](const Shape& shape, const void* data) { return data == result ? Values{} : planesOf(shape, data, rounds); };
    const Values sums = convolve(p, read(p.source, source), read(p.weights, weights), read(p.destination, destination));
    auto next = sums.begin();
    const Shape& written = result == destination ? p.destination : result == source ? p.source : p.weights;
    inPlanes(written, [&](std::size_t at) {
      double product = static_cast<double>(factor) * *next++;
      if (kept != 0) product += static_cast<double>(kept) * static_cast<double>(tilefold::emulated::elementAt(result, written.type, at));
      tilefold::emulated::setElement(result, written.type, at, product);
    });
    scribble();
  };
  return tilefold::emulated::enqueue(handle->stream, work) == cudaSuccess ? Status::success : refuse(notInitialised, "no stream was set");
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
  std::strncpy(message, lastError.c_str(), bytes - 1);
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
  descriptor->padding = {padHeight, padWidth};
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
