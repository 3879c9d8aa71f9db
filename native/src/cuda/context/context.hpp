// What the kernels of a cuda device share: the stream they are enqueued on, the libraries, and what
// they read and report on the device.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "../../device.hpp"
#include "../../kernels/kernels.hpp"

namespace tilefold::cuda {

// One image of a step: element (row, column, channel) of the crop, flipped and turned, is
// the element (origin + row * rowStep + column * columnStep) * channels + channel of pixels.
struct ImageBlock {
  const std::uint8_t* pixels;
  std::int64_t channels, origin, rowStep, columnStep;
  std::int32_t hasColour;
  ElementType elementType;
  double colour[12];
};

// What changes from step to step, on the device; images[batch] follow in memory of their own.
struct StepBlock {
  double learningRate;
  std::uint64_t step, seed;
  const ImageBlock* images;
};

enum class FaultKind : std::int32_t { none, label, pixelLabel };

// The first fault that a kernel found.
struct Fault {
  std::int32_t kind;  // FaultKind
  std::int32_t padding;
  std::int64_t row, label, classes, ignored;
};

enum class Math { float32, tf32 };  // what products of convolutions and matrices are computed in

// Where the sums of many blocks meet (reduction.cuh). The owner zeroes it once; every kernel leaves
// `arrived` zero.
struct Partials {
  static constexpr int blocks = 1024, sumsPerBlock = 128;
  unsigned arrived[blocks];
  double sums[blocks * sumsPerBlock];
};

// libraries.hpp: cuDNN and cuBLAS, loaded at run time, with their handles on `compute`.
class Libraries;

struct Context {
  cudaStream_t compute = nullptr;
  cudaStream_t load = nullptr;      // of the to-device engine: loads run beside what computes
  const StepBlock* step = nullptr;  // on the device
  const ImageBlock* images = nullptr;  // of the step, in pinned memory as their pixels are
  Fault* fault = nullptr;           // on the device
  Partials* partials = nullptr;     // on the device
  Precision precision = Precision::float32;  // of activations
  Math math = Math::float32;
  int multiprocessors = 1;
  int computeCapability = 0;  // its first number
  Libraries* libraries = nullptr;
};

// Whether products are for tensor cores.
inline bool usesTensorCores(const Context& context) { return context.precision == Precision::bf16 || context.math == Math::tf32; }

}  // namespace tilefold::cuda
