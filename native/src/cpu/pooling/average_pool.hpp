// Average pools in blocked layouts, of T: float or Bfloat16. Sums are formed in float, those
// of long windows in double, the gradients of pixels that several windows hold too.
#pragma once
#include "../operands/launch.hpp"

namespace tilefold::cpu {

template <class T>
Launch globalAveragePoolForward(const GlobalAveragePool& p);
template <class T>
Launch globalAveragePoolBackward(const GlobalAveragePool& p);
template <class T>
Launch averagePoolForward(const AveragePool& p);
template <class T>
Launch averagePoolBackward(const AveragePool& p);

}  // namespace tilefold::cpu
