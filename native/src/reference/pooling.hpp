// Pooling and sums over pixels, in any activation layout; padding lanes stay zero.
#pragma once
#include <cstdint>

#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"
#include "../maxima.hpp"
#include "pointwise.hpp"

namespace tilefold::reference {

// The first of equals wins, a NaN always. indices: pixel of the input plane, one an output element;
// -1: the window saw only padding.
template <class T>
void maxPoolForward(const Pool& p, const T* source, T* destination, std::int32_t* indices);

// Throws Failure when `indices` points outside the plane.
template <class T>
void maxPoolBackward(const Pool& p, const T* destinationGradient, const std::int32_t* indices, T* sourceGradient);

// Bytes of `indices`. Throws Failure when a plane has more pixels than int32 counts.
std::size_t indicesBytes(const Pool& p);

template <class T>
void averagePoolForward(const AveragePool& p, const T* source, T* destination);
template <class T>
void averagePoolBackward(const AveragePool& p, const T* destinationGradient, T* sourceGradient);

// sum[b, c] += scale * sum of the tile's pixels, formed in double.
template <class T>
void globalAveragePoolForward(const GlobalAveragePool& s, const T* source, ParameterOf<T>* sum);
template <class T>
void globalAveragePoolBackward(const GlobalAveragePool& s, const T* sumGradient, T* sourceGradient);

// Takes the tile's elements, whose plane begins at `origin`, into maxima[b, c]; destination[b, c]
// is what is then the largest.
template <class T>
void globalMaxPoolForward(const PlacedTile& t, const TileOrigin& origin, const T* source, Maximum* maxima, T* destination);
// All zero but where the largest stands, if that is in the tile.
template <class T>
void globalMaxPoolBackward(const PlacedTile& t, const TileOrigin& origin, const T* destinationGradient, const Maximum* maxima,
                           T* sourceGradient);

}  // namespace tilefold::reference
