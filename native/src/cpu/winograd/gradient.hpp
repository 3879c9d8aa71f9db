// The gradient of the weights: the transforms of the source and of the gradient are multiplied and
// summed over all tiles, position by position, and what stands there goes back to the 9 taps.
#pragma once
#include "../operands/launch.hpp"
#include "../operands/strides.hpp"
#include "tiles.hpp"

namespace tilefold::cpu::winograd {

template <int Width, int Largest>
struct Gradient {
  Planes<Width> source, destination;
  Windows windows;  // of the source
  TileGrid grid;    // of the destination
  WeightStrides weights;
  // How far apart the outputs of a vector are: the layout is plain or in blocks of `Width` outputs.
  std::int64_t laneStride() const { return weights.out(1) - weights.out(0); }
};

template <int Width, int Largest>
std::int64_t gradientScratchBytes(const Gradient<Width, Largest>& g, int threads);

// T, of activations: float or Bfloat16.
template <class T>
struct GradientOperands {
  const T *source, *destinationGradient;
  float *weightGradient, *biasGradient;  // biasGradient may be null
  std::byte* scratch;
};
template <int Width, int Largest, class T>
void weightGradient(const Gradient<Width, Largest>& g, int threads, const GradientOperands<T>& operands);

}  // namespace tilefold::cpu::winograd
