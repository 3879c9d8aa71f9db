// Max pooling, plain or nhwc; indices (int32) lie as the outputs do. Semantics:
// reference/pooling.hpp.
#pragma once
#include "../kernel_fields.hpp"
#include "../maxima.hpp"
#include "../reference/pointwise.hpp"
#include "context.hpp"

namespace tilefold::cuda {

template <class T>
void maxPoolForward(const Context& context, const Pool& p, const T* source, T* destination, std::int32_t* indices);

// Every input pixel gathers from the windows that may have chosen it. Winners outside the plane are
// a fault where a window sees pixels.
template <class T>
void maxPoolBackward(const Context& context, const Pool& p, const T* destinationGradient, const std::int32_t* indices,
                     T* sourceGradient);

template <class T>
void globalMaxPoolForward(const Context& context, const PlacedTile& t, const reference::TileOrigin& origin, const T* source,
                          Maximum* maxima, T* destination);
template <class T>
void globalMaxPoolBackward(const Context& context, const PlacedTile& t, const reference::TileOrigin& origin, const T* destinationGradient,
                           const Maximum* maxima, T* sourceGradient);

}  // namespace tilefold::cuda
