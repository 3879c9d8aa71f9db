// Prefetching in functions that do nothing else.
#pragma once

namespace tilefold::cpu {

// Locality 3: into every cache; 2: not into the first. GCC takes a function that only prefetches
// for one without effect, whose calls it leaves out: the empty assembly is one.
template <int Locality>
inline void prefetch(const void* address) {
  __builtin_prefetch(address, 0, Locality);
  asm volatile("");
}

}  // namespace tilefold::cpu
