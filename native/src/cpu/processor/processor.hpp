// Loops that are compiled for several instruction sets, of which the best that the processor has is
// taken when they run: a build needs no flags for the machine that it will run on.
#pragma once
#include <cstdint>
#include <string>

// Into a loop for some instruction set goes only what is inlined.
#define TILEFOLD_INLINED __attribute__((always_inline))
#define TILEFOLD_INLINE inline TILEFOLD_INLINED

namespace tilefold::cpu {

// What the processor lacks for the cpu device; null when it lacks nothing.
const char* lackingInstructions();

// The instructions that oneDNN uses here.
std::string instructionSet();

// Whether oneDNN multiplies bf16 by instructions made for it; elsewhere it is slower than in float.
bool multipliesBf16();

// Whether the loops of AVX-512 do that here, which multiply pairs: where those of AMX do not.
bool multipliesPairs();

// Whether the loops of amx.hpp multiply bf16 here.
bool multipliesMatrices();

// Channels of an activation that lie together on this machine: 16 with AVX-512, else 8.
std::int64_t machineBlock();

}  // namespace tilefold::cpu

#if defined(__x86_64__) && !defined(TILEFOLD_THIS_PROCESSOR)
#include "processor_x86_64.hpp"
#else

namespace tilefold::cpu {

// Runs `body`, a lambda that is TILEFOLD_INLINED, with `arguments`. Loops that end soon take all
// that they read as arguments and capture nothing.
template <class Body, class... Arguments>
auto forProcessor(Body body, Arguments... arguments) {
  return body(arguments...);
}

// As forProcessor, of what runs only where loops use AVX-512, and of what never does there.
template <class Body, class... Arguments>
auto forProcessorWithAvx512(Body body, Arguments... arguments) {
  return body(arguments...);
}

template <class Body, class... Arguments>
auto forProcessorWithoutAvx512(Body body, Arguments... arguments) {
  return body(arguments...);
}

}  // namespace tilefold::cpu

#endif
