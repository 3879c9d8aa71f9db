// Vectors of the loops of loops.hpp: of `Width` channels, 16 or 8.
#pragma once
#include "../vectors/lanes.hpp"
#include "loops.hpp"

namespace tilefold::cpu::winograd {

template <int Width>
using Vector = typename Lanes<Width>::Floats;

// At any float's or Bfloat16's address.
template <int Width, class T>
TILEFOLD_INLINE Vector<Width> at(const T* address) {
  return Lanes<Width>::at(address);
}
template <int Width, class T>
TILEFOLD_INLINE void put(T* address, const Vector<Width>& value) {
  Lanes<Width>::put(address, value);
}

// Runs `body` with `arguments` for the processor, whose machineBlock() is `Width`.
template <int Width, class Body, class... Arguments>
TILEFOLD_INLINE void forWidth(Body body, Arguments... arguments) {
  if constexpr (Width == 8)
    forProcessorWithoutAvx512(body, arguments...);
  else
    forProcessorWithAvx512(body, arguments...);
}

}  // namespace tilefold::cpu::winograd
