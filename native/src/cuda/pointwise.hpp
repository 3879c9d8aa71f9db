// Element by element: rectifiers, sums and dropout. Semantics: reference/pointwise.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "../reference/pointwise.hpp"
#include "context.hpp"

namespace tilefold::cuda {

using reference::TileOrigin;

template <class T>
void rectifierForward(const Context& context, const Rectifier& r, const T* source, T* destination);
template <class T>
void rectifierBackward(const Context& context, const Rectifier& r, const T* destination, const T* destinationGradient, T* sourceGradient);
template <class T>
void addForward(const Context& context, const Rectifier& r, const T* first, const T* second, T* destination);
template <class T>
void dropout(const Context& context, const Dropout& d, const TileOrigin& origin, const T* source, T* destination);

}  // namespace tilefold::cuda
