// Instructions that multiply pairs of bf16, for functions that run where multipliesPairs() of
// processor.hpp.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>

#define TILEFOLD_PAIRS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#endif
