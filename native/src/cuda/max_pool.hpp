// What the indices of a max pool take, and its gradient.
#pragma once
#include "../reference/pooling.hpp"
#include "context.hpp"

namespace tilefold::cuda {

// Whether an index is a byte, the winner's place in its window; 255 is left for one of padding.
inline bool hasByteIndices(const Pool& p) {
  constexpr std::int64_t places = 255;
  return p.kernelHeight <= places && p.kernelHeight * p.kernelWidth <= places;
}

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
