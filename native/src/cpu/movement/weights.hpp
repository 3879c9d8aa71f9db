// Convolution weights from one layout to another.
#pragma once
#include "../operands/launch.hpp"
#include "../operands/strides.hpp"

namespace tilefold::cpu {

// Channel padding of the destination is zeroed.
Launch reorderWeights(const WeightReorder& reorder);
// The same of a slice of weights of one group.
Launch sliceWeights(const WeightSlice& slice);
// As reorderWeights, rounded to T: float or Bfloat16.
template <class T>
Launch castWeights(const WeightReorder& reorder);

}  // namespace tilefold::cpu
