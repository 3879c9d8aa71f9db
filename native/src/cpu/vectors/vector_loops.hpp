// Loops over contiguous floats, compiled for several instruction sets of which the best is taken
// when the program starts. The result of each depends on nothing but its operands, so work may be
// split among threads anywhere.
#pragma once
#include <cstdint>

#include "../../kernels/bfloat16.hpp"

namespace tilefold::cpu {

// T: float or Bfloat16, which is computed with as float and rounded where it is stored.

// Source and destination may coincide, but not overlap otherwise.
template <class T>
void rectify(const T* source, T* destination, std::int64_t count, float slope);
template <class T>
void rectifyGradient(const T* output, const T* outputGradient, T* sourceGradient, std::int64_t count, float slope);

template <class T>
void add(const T* source, T* destination, std::int64_t count);
// destination = rectified(first + second), which may be either.
template <class T>
void addRectified(const T* first, const T* second, T* destination, std::int64_t count, float slope);
// Between bf16 and float.
void convert(const Bfloat16* source, float* destination, std::int64_t count);
void convert(const float* source, Bfloat16* destination, std::int64_t count);
// A copy.
void convert(const float* source, float* destination, std::int64_t count);
template <class T>
void addScaled(float scale, const T* source, float* destination, std::int64_t count);
template <class T>
void multiply(float scale, const T* source, float* destination, std::int64_t count);
template <class T>
float dot(const T* left, const T* right, std::int64_t count);
// The sum of the squares, in double.
double squares(const float* values, std::int64_t count);

}  // namespace tilefold::cpu
