// Tiles of the step's uint8 images, normalised as they are loaded.
#pragma once
#include <vector>

#include "../device.hpp"
#include "../kernel_fields.hpp"
#include "pointwise.hpp"

namespace tilefold::reference {

// destination = (pixel / 255 - mean[c]) / deviation[c] of the tile at `origin` of the cropped and flipped images.
template <class T>
void loadImage(const LoadImage& l, const TileOrigin& origin, const std::vector<Image>& images, T* destination);

}  // namespace tilefold::reference
