// Between layouts, between dense tiles and plain strided tensors, and between channels of tiles. Semantics: reference/movement.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// Between plain and nhwc.
void reorderActivation(const Context& context, const ActivationReorder& r, const float* source, float* destination);

// Between plain (oihw) and ohwi.
void reorderWeights(const Context& context, const WeightReorder& r, const float* source, float* destination);

// A tile of a plain strided tensor to a dense tile, plain or nhwc; and back, added.
void gather(const Context& context, const StridedTile& t, const float* source, float* destination);
void scatterAdd(const Context& context, const StridedTile& t, const float* source, float* destination);

// Some channels of every pixel; either side plain or nhwc.
void copyChannels(const Context& context, const CopyChannels& c, const float* source, float* destination);

}  // namespace tilefold::cuda
