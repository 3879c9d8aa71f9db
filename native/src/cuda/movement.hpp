// Shuffles of pixels and channels and padding of tiles, plain or nhwc. Semantics: reference/movement.hpp; every
// result gathers what it is made of.
#pragma once
#include "../padding.hpp"
#include "context.hpp"

namespace tilefold::cuda {

template <class T>
void pixelShuffle(const Context& context, const PixelShuffle& p, const T* source, T* destination);

template <class T>
void channelShuffle(const Context& context, const ChannelGroups& s, const T* source, T* destination);

// Throws Failure where an output shows an input that is beside the tile.
template <class T>
void padForward(const Context& context, const Pad& p, const ResampledAt& at, const T* source, T* destination);
template <class T>
void padBackward(const Context& context, const Pad& p, const ResampledAt& at, const T* destinationGradient, T* sourceGradient);

}  // namespace tilefold::cuda
