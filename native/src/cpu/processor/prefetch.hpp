// Prefetching in functions that do nothing else.
#pragma once

namespace tilefold::cpu {

// Locality 3: into every cache; 2: not into the first. GCC leaves out calls of functions that only
// prefetch; the empty assembly counts as an effect.
template <int Locality>
inline void prefetch(const void* address) {
  __builtin_prefetch(address, 0, Locality);
  asm volatile("");
}

}  // namespace tilefold::cpu
