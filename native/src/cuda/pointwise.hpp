// Element by element: rectifiers, sums and dropout. Semantics: reference/pointwise.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "../reference/pointwise.hpp"
#include "context.hpp"

namespace tilefold::cuda {

using reference::TileOrigin;

void rectifierForward(const Context& context, const Rectifier& r, const float* source, float* destination);
void rectifierBackward(const Context& context, const Rectifier& r, const float* destination, const float* destinationGradient,
                       float* sourceGradient);
void addForward(const Context& context, const Rectifier& r, const float* first, const float* second, float* destination);
void dropout(const Context& context, const Dropout& d, const TileOrigin& origin, const float* source, float* destination);

}  // namespace tilefold::cuda
