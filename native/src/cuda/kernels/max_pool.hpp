// What the indices of a max pool take, and its gradient.
#pragma once
#include <type_traits>

#include "../../reference/pooling.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

// Whether an index is a byte, the winner's place in its window; 255 is left for one of padding.
inline bool hasByteIndices(const Pool& p) {
  constexpr std::int64_t places = 255;
  return p.kernelHeight <= places && p.kernelHeight * p.kernelWidth <= places;
}

// Whether an Index is a byte, a place in a window, and not a pixel.
template <class Index>
constexpr bool isPlace = std::is_same_v<Index, std::uint8_t>;

// Windows of 2 x 2 that neither overlap nor leave anything of the input out.
inline bool tilesInput(const Pool& p) {
  return p.kernelHeight == 2 && p.kernelWidth == 2 && p.strideHeight == 2 && p.strideWidth == 2 && p.dilationHeight == 1 &&
         p.dilationWidth == 1 && p.padTop == 0 && p.padLeft == 0 && p.inHeight == 2 * p.outHeight && p.inWidth == 2 * p.outWidth;
}

inline bool channelsLast(const Pool& p) { return p.layout == Layout::nhwc && p.inChannels > 1; }

// Throws Failure where an index of a large window has no number.
inline std::size_t maxPoolIndicesBytes(const Pool& p) {
  if (!hasByteIndices(p)) return reference::indicesBytes(p);
  return static_cast<std::size_t>(activationElements(p.layout, p.batch, p.inChannels, p.outHeight, p.outWidth));
}

// A rectifier between the pool and what is before it, and its output; none where that is null.
template <class T>
struct RectifierBefore {
  const T* output = nullptr;
  float slope = 1;
};

// Enqueues: the gradient of what the pool read, or of what that rectifier read.
template <class T>
void maxPoolBackward(const Context& context, const Pool& p, const T* destinationGradient, const void* indices, T* sourceGradient,
                     const RectifierBefore<T>& rectifier);

}  // namespace tilefold::cuda
