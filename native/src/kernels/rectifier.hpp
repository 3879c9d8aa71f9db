// The rectifier that all devices share.
#pragma once
#include "host_device.hpp"

namespace tilefold {

// `value`, or slope times it where `decides` is not above 0. As in PyTorch, slope 0 leaves no more
// of an infinity than of any other value, and what is not a number decides for `value`.
template <class T>
TILEFOLD_HOST_DEVICE T rectified(T decides, T value, T slope) {
  if (slope == 0) return decides <= 0 ? T(0) : value;
  return decides > 0 ? value : slope * value;
}
template <class T>
TILEFOLD_HOST_DEVICE T rectified(T value, T slope) {
  return rectified(value, value, slope);
}

}  // namespace tilefold
