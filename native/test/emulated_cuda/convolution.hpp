// A convolution as both interfaces of the emulated cuDNN compute it.
#pragma once
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "../../src/cuda/libraries/cudnn_graph_api.hpp"

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
  std::array<int, 2> before{}, after{}, stride{1, 1}, dilation{1, 1};  // rows, columns
  int groups = 1;
  MathType math = MathType::standard;
};

}  // namespace tilefold::cuda::cudnn

namespace tilefold::emulated {

using namespace tilefold::cuda::cudnn;

using Shape = TensorDescriptorObject;

constexpr Status badParameter{2000}, notSupported{3000}, notInitialised{1001};

// Keeps why for cudnnGetLastErrorString.
Status refuse(Status status, const char* why);
const char* lastError();

inline std::size_t size(int number) { return static_cast<std::size_t>(number); }
inline std::size_t elements(const Shape& s) { return size(s.n) * size(s.c) * size(s.h) * size(s.w); }

struct Problem {
  Shape source, weights, destination;
  ConvolutionDescriptorObject window;
  Direction direction;

  int kernel(int axis) const { return axis == 0 ? weights.h : weights.w; }
  int in(int axis) const { return axis == 0 ? source.h : source.w; }
  int reach(int axis) const { return (kernel(axis) - 1) * window.dilation[size(axis)] + 1; }
  int out(int axis) const {
    const int slack = in(axis) + window.before[size(axis)] + window.after[size(axis)] - reach(axis);
    return slack < 0 ? 0 : slack / window.stride[size(axis)] + 1;
  }
};

// What can be said without the destination, and all.
Status checkParts(const Problem& p);
Status check(const Problem& p);

// Tensors on the device; the result is one of the other three.
struct Tensors {
  const void *source, *weights, *destination;
  void* result;
};

// Enqueues: result = alpha * product + beta * result. The workspace is written all over.
Status enqueueProduct(Handle handle, const Problem& p, void* workspace, std::size_t workspaceBytes, float alpha, float beta,
                      const Tensors& tensors);

// Whether an address is none, or at no multiple of 16 bytes.
bool misplaced(const void* address);

}  // namespace tilefold::emulated
