// Kernels that move elements between places and layouts.
#pragma once
#include "../bfloat16.hpp"
#include "../kernel_fields.hpp"
#include "../padding.hpp"

namespace tilefold::reference {

template <class T>
void reorderActivation(const ActivationReorder& r, const T* source, T* destination);

// Some channels of one dense tile to some of another. Where they are the last of a blocked one and
// not added, its padding is zeroed.
template <class T>
void copyChannels(const CopyChannels& c, const T* source, T* destination);

// Between a fine and a coarse tile, either way; padding channels, and what the other tile does not
// hold, are zero.
template <class T>
void pixelShuffle(const PixelShuffle& p, const T* source, T* destination);

// Padding channels are zero.
template <class T>
void channelShuffle(const ChannelGroups& s, const T* source, T* destination);

// Throws Failure where an output shows an input that is beside the tile.
template <class T>
void padForward(const Pad& p, const ResampledAt& at, const T* source, T* destination);
// The part of the source's gradient that comes from the outputs of the tile.
template <class T>
void padBackward(const Pad& p, const ResampledAt& at, const T* destinationGradient, T* sourceGradient);

// A box of rows; adds where the fields say so.
template <class T>
void copyBox(const CopyBox& box, const T* source, T* destination);

// A tile of a plain strided tensor to a dense tile, channel padding zeroed; and back, added.
template <class T>
void packTile(const StridedTile& t, const ParameterOf<T>* source, T* destination);
template <class T>
void unpackAddTile(const StridedTile& t, const T* source, ParameterOf<T>* destination);

// Weights as products read them: parameters rounded to what activations are stored as.
template <class T>
void castWeights(const Count& r, const ParameterOf<T>* source, T* destination);

}  // namespace tilefold::reference
