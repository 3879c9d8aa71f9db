// The gradient of a bias: sums of the gradients of its channel.
#pragma once
#include "../../kernels/bfloat16.hpp"
#include "../../kernels/kernel_fields.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

// The gradient of an activation [batch, channels, pixels], plain or nhwc.
struct BiasedTile {
  Layout layout;
  std::int64_t batch, channels, pixels;
};

// Enqueues: sums[c] is the sum of `gradient` over batch and pixels, in an order that the shape and
// the operands' alignment decide.
template <class T>
void biasGradient(const Context& context, const BiasedTile& tile, const T* gradient, float* sums);

// The same of what a rectifier of slope 0, whose output is `destination`, lets through of
// `destinationGradient`, and stores as `sourceGradient`, which may be that.
template <class T>
void rectifiedBiasGradient(const Context& context, const BiasedTile& tile, const T* destination, const T* destinationGradient,
                           T* sourceGradient, float* sums);

// What a max pool's backward reads, of squares of an nhwc tile `width` wide (tilesInput in
// max_pool.hpp): the gradient of what it wrote, and which of a square's four has it.
template <class T>
struct PooledGradient {
  const T* gradient;
  const std::uint8_t* winners;
  std::int64_t width;
};

// The same of the gradient that such a pool behind that rectifier gives back.
template <class T>
void rectifiedBiasGradient(const Context& context, const BiasedTile& tile, const T* destination, const PooledGradient<T>& pooled,
                           T* sourceGradient, float* sums);

}  // namespace tilefold::cuda
