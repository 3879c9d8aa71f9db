// GCC would fold a load into each product that uses it, and the loads then take longer than the
// products.
#pragma once
#include "lanes.hpp"

namespace tilefold::cpu {

// At any float's address. Templates of some compilers forget `aligned`.
template <int Width>
struct Unaligned;
template <>
struct Unaligned<8> {
  typedef float Vector __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct Unaligned<16> {
  typedef float Vector __attribute__((vector_size(64), aligned(4), may_alias));
};

// `Width` floats, loaded into a register for all that follows.
template <int Width>
TILEFOLD_INLINE typename Lanes<Width>::Floats loadOnce(const float* address) {
  return *reinterpret_cast<const volatile typename Unaligned<Width>::Vector*>(address);
}

}  // namespace tilefold::cpu
