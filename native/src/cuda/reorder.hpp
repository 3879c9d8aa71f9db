// Between layouts, between dense tiles and plain strided tensors, and between channels of tiles.
// Semantics: reference/movement.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// Between plain and nhwc.
template <class T>
void reorderActivation(const Context& context, const ActivationReorder& r, const T* source, T* destination);

// Between plain (oihw) and ohwi.
void reorderWeights(const Context& context, const WeightReorder& r, const float* source, float* destination);

// Weights as products read them.
template <class T>
void castWeights(const Context& context, const Count& r, const float* source, T* destination);

// A tile of a plain strided tensor to a dense tile, plain or nhwc; and back, added.
template <class T>
void packTile(const Context& context, const StridedTile& t, const float* source, T* destination);
template <class T>
void unpackAddTile(const Context& context, const StridedTile& t, const T* source, float* destination);

// Some channels of every pixel; either side plain or nhwc.
template <class T>
void copyChannels(const Context& context, const CopyChannels& c, const T* source, T* destination);

}  // namespace tilefold::cuda
