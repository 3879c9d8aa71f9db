// The largest of the elements of a plane, and where it stands.
#pragma once
#include "host_device.hpp"

namespace tilefold {

// As it stands in memory; `place` is one past the absolute place in row-major order, so zeroed
// memory holds none.
struct Maximum {
  double value, place;

  // Whether this one is to be kept beside another: a NaN first, then the larger, then the earlier.
  TILEFOLD_HOST_DEVICE bool precedes(const Maximum& other) const {
    if (place == 0 || other.place == 0) return place != 0;
    const bool isNan = value != value, otherIsNan = other.value != other.value;
    if (isNan != otherIsNan) return isNan;
    if (!isNan && value != other.value) return value > other.value;
    return place < other.place;
  }
  TILEFOLD_HOST_DEVICE Maximum& operator+=(const Maximum& other) {
    if (other.precedes(*this)) *this = other;
    return *this;
  }
};

}  // namespace tilefold
