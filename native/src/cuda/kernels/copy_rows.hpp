// Boxes of rows, copied or added.
#pragma once
#include "../../kernels/kernel_fields.hpp"
#include "../context/context.hpp"

namespace tilefold::cuda {

// `extents[3]` contiguous elements a row; strides in elements. Destination rows do not overlap.
struct RowBox {
  std::int64_t extents[4];
  std::int64_t sourceStrides[3], destinationStrides[3];
  bool add;
  // Boxes of the source that are added, one after the other; so many elements apart.
  std::int64_t summands = 1, summandStride = 0;
};

template <class From, class To>
void copyRows(const Context& context, const char* name, const RowBox& box, const From* source, To* destination);

// Whether it adds all `count` elements of one activation to another's, each where it lies.
bool addsWhole(const CopyBox& box, std::int64_t count);

}  // namespace tilefold::cuda
