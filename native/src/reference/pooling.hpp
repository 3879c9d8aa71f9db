// Max pooling in any activation layout, for devices that keep indices as the reference does.
#pragma once
#include <cstdint>

#include "../kernels/kernel_fields.hpp"

namespace tilefold::reference {

// The first of equals wins, a NaN always. indices: pixel of the input plane, one an output element;
// -1: the window saw only padding. Padding lanes stay zero.
template <class T>
void maxPoolForward(const Pool& p, const T* source, T* destination, std::int32_t* indices);

// Throws Failure when `indices` points outside the plane.
template <class T>
void maxPoolBackward(const Pool& p, const T* destinationGradient, const std::int32_t* indices, T* sourceGradient);

// Bytes of `indices`. Throws Failure when a plane has more pixels than int32 counts.
std::size_t indicesBytes(const Pool& p);

}  // namespace tilefold::reference
