// processor.hpp on x86-64: loops are compiled for AVX2 and for AVX-512.
#pragma once

// Every processor with the first of each set has the rest: x86-64-v3, and what oneDNN calls
// avx512_core. Lists, since compilers before GCC 12 and clang 17 know no name of a level here.
#define TILEFOLD_AVX2 __attribute__((noinline, target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe")))
#define TILEFOLD_AVX512 \
  __attribute__((noinline, target("avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")))

namespace tilefold::cpu {

// Whether oneDNN uses AVX-512 too, so that ONEDNN_MAX_CPU_ISA limits both.
bool usesAvx512();

// Arguments travel in registers. What a lambda captures would be written to the stack and read at
// once, which costs as much as a short loop.
template <class Body, class... Arguments>
TILEFOLD_AVX512 auto withAvx512(Body body, Arguments... arguments) {
  return body(arguments...);
}

template <class Body, class... Arguments>
TILEFOLD_AVX2 auto withAvx2(Body body, Arguments... arguments) {
  return body(arguments...);
}

template <class Body, class... Arguments>
auto forProcessor(Body body, Arguments... arguments) {
  return usesAvx512() ? withAvx512(body, arguments...) : withAvx2(body, arguments...);
}

// As forProcessor, of what runs only where loops use AVX-512, and of what never does there.
template <class Body, class... Arguments>
auto forProcessorWithAvx512(Body body, Arguments... arguments) {
  return withAvx512(body, arguments...);
}

template <class Body, class... Arguments>
auto forProcessorWithoutAvx512(Body body, Arguments... arguments) {
  return withAvx2(body, arguments...);
}

}  // namespace tilefold::cpu

#undef TILEFOLD_AVX2
#undef TILEFOLD_AVX512
