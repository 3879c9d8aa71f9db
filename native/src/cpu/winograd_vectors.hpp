// Vectors of the loops of winograd_loops.hpp.
#pragma once
#include "lanes.hpp"
#include "winograd_loops.hpp"

namespace tilefold::cpu::winograd {

typedef float Vector __attribute__((vector_size(lanes * sizeof(float))));
// At any float's address. Lambdas and templates forget `aligned` in their signatures, so none has
// it in its own.
typedef float Unaligned __attribute__((vector_size(lanes * sizeof(float)), aligned(4), may_alias));

TILEFOLD_INLINE const Unaligned& at(const float* address) { return *reinterpret_cast<const Unaligned*>(address); }
TILEFOLD_INLINE Unaligned& at(float* address) { return *reinterpret_cast<Unaligned*>(address); }
TILEFOLD_INLINE Vector at(const Bfloat16* address) { return Lanes<lanes>::at(address); }
TILEFOLD_INLINE void put(float* address, const Vector& value) { at(address) = value; }
TILEFOLD_INLINE void put(Bfloat16* address, const Vector& value) { Lanes<lanes>::put(address, value); }

}  // namespace tilefold::cpu::winograd
