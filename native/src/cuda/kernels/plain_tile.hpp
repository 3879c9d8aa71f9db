// Tiles of the step's images that are one pixel again and again, found by the processor.
#pragma once
#include <optional>

#include "../../kernels/kernel_fields.hpp"
#include "../../kernels/launch_operands.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

// The pixel of each image of the tile, or nothing where an image has others beside it. `images`:
// of the step, all of them, whose pixels this processor can read.
std::optional<PlainTile> findPlainTile(const ImageBlock* images, const LoadImage& load, const TileOrigin& origin);

}  // namespace tilefold::cuda
