// Tiles of the step's uint8 images, normalised as they are loaded.
#pragma once
#include <vector>

#include "../bfloat16.hpp"
#include "../device.hpp"
#include "../kernel_fields.hpp"
#include "pointwise.hpp"

namespace tilefold::reference {

// destination = (value - mean[c]) / deviation[c] of the tile at `origin` of the cropped, flipped
// and turned images, where value is pixel / 255, or what the image's colour makes of the pixel's
// three of them, clamped to 0 .. 1.
template <class T>
void loadImage(const LoadImage& l, const TileOrigin& origin, const std::vector<Image>& images, T* destination);

}  // namespace tilefold::reference
