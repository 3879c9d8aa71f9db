// What the indices of a max pool take.
#pragma once
#include "../reference/pooling.hpp"

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

}  // namespace tilefold::cuda
