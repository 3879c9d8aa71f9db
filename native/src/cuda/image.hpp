// Tiles of the step's uint8 images, normalised as they are loaded, plain or nhwc. Semantics:
// reference/image.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "../reference/pointwise.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// Reads context.step->images[origin.batch ...], whose pixels the device must see.
template <class T>
void loadImage(const Context& context, const LoadImage& l, const reference::TileOrigin& origin, T* destination);

}  // namespace tilefold::cuda
