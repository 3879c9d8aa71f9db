// The forward convolution and the gradient of its input, which is a convolution of the other's with
// flipped weights.
#pragma once
#include "../operands/launch.hpp"
#include "tiles.hpp"

namespace tilefold::cpu::winograd {

template <int Width, int Largest>
struct Correlation {
  Planes<Width> operand, result;
  Windows windows;  // of the operand
  TileGrid grid;    // of the result
  std::int64_t batch;
  std::int64_t resultElements() const { return result.at(batch, 0); }
};

template <int Width, int Largest>
std::int64_t correlationScratchFloats(const Correlation<Width, Largest>& c, int threads);

// T, of activations: float or Bfloat16. `weights` are transformed but of few tiles, `bias` (by
// result channel) may be null. Negative results are multiplied by `slope`.
template <class T>
struct CorrelationOperands {
  const T* operand;
  const float *weights, *bias;
  T* result;
  float* scratch;
  float slope;
};
template <int Width, int Largest, class T>
void correlate(const Correlation<Width, Largest>& c, int threads, const CorrelationOperands<T>& operands);

// Where the transformed weights of `maxVectors` result channel blocks begin, and the vectors that
// they have.
template <int Width>
std::int64_t weightChunks(std::int64_t resultChannels);
template <int Width>
std::int64_t chunkVectors(std::int64_t resultChannels, std::int64_t chunk);
template <int Width, int Largest>
std::int64_t chunkOffset(std::int64_t operandChannels, std::int64_t chunk);

}  // namespace tilefold::cpu::winograd
