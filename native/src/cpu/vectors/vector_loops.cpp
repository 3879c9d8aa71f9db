#include "vector_loops.hpp"

#include <cstring>

#include "lanes.hpp"

namespace tilefold::cpu {

template <class T>
void rectify(const T* source, T* destination, std::int64_t count, float slope) {
  forProcessor([=]() TILEFOLD_INLINED {
    const auto value = [=](std::int64_t i) -> float { return source[i]; };
    rectifyEach(count, slope, value, value, destination);
  });
}

template <class T>
void rectifyGradient(const T* output, const T* outputGradient, T* sourceGradient, std::int64_t count, float slope) {
  forProcessor([=]() TILEFOLD_INLINED {
    rectifyEach(
        count, slope, [=](std::int64_t i) -> float { return output[i]; }, [=](std::int64_t i) -> float { return outputGradient[i]; },
        sourceGradient);
  });
}

template <class T>
void add(const T* source, T* destination, std::int64_t count) {
  forProcessor([=]() TILEFOLD_INLINED {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) destination[i] += source[i];
  });
}

template <class T>
void addRectified(const T* first, const T* second, T* destination, std::int64_t count, float slope) {
  forProcessor([=]() TILEFOLD_INLINED {
    const auto sum = [=](std::int64_t i) { return first[i] + second[i]; };
    rectifyEach(count, slope, sum, sum, destination);
  });
}

void convert(const Bfloat16* source, float* destination, std::int64_t count) {
  forProcessor([=]() TILEFOLD_INLINED {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) destination[i] = source[i];
  });
}

void convert(const float* source, float* destination, std::int64_t count) {
  std::memcpy(destination, source, static_cast<std::size_t>(count) * sizeof(float));
}

void convert(const float* source, Bfloat16* destination, std::int64_t count) {
  forProcessor([=]() TILEFOLD_INLINED {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) destination[i] = source[i];
  });
}

template <class T>
void addScaled(float scale, const T* source, float* destination, std::int64_t count) {
  forProcessor([=]() TILEFOLD_INLINED {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) destination[i] += scale * static_cast<float>(source[i]);
  });
}

template <class T>
void multiply(float scale, const T* source, float* destination, std::int64_t count) {
  forProcessor([=]() TILEFOLD_INLINED {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) destination[i] = scale * static_cast<float>(source[i]);
  });
}

template <class T>
float dot(const T* left, const T* right, std::int64_t count) {
  return forProcessor([=]() TILEFOLD_INLINED {
    constexpr int width = 16, chains = 4;
    using Vector = Lanes<width>;
    Vector::Type sums[chains] = {};
    std::int64_t i = 0;
    for (; i + width * chains <= count; i += width * chains)
      for (int chain = 0; chain < chains; ++chain)
        sums[chain] += Vector::at(left + i + chain * width) * Vector::at(right + i + chain * width);
    const Vector::Type total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float sum = 0;
    for (int lane = 0; lane < width; ++lane) sum += total[lane];
    for (; i < count; ++i) sum += static_cast<float>(left[i]) * static_cast<float>(right[i]);
    return sum;
  });
}

// A product of two floats is exact in double, so a fused addition gives the same bits as a separate
// one.
double squares(const float* values, std::int64_t count) {
  return forProcessor([=]() TILEFOLD_INLINED {
    constexpr int width = 8, chains = 4;
    typedef double Doubles __attribute__((vector_size(width * sizeof(double))));
    Doubles sums[chains] = {};
    std::int64_t i = 0;
    for (; i + width * chains <= count; i += width * chains)
      for (int chain = 0; chain < chains; ++chain) {
        const Doubles value = __builtin_convertvector(Lanes<width>::at(values + i + chain * width), Doubles);
        sums[chain] += value * value;
      }
    const Doubles total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    double sum = 0;
    for (int lane = 0; lane < width; ++lane) sum += total[lane];
    for (; i < count; ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
    return sum;
  });
}

#define TILEFOLD_INSTANTIATE(T) \
  template void rectify(const T*, T*, std::int64_t, float); \
  template void rectifyGradient(const T*, const T*, T*, std::int64_t, float); \
  template void add(const T*, T*, std::int64_t); \
  template void addRectified(const T*, const T*, T*, std::int64_t, float); \
  template void addScaled(float, const T*, float*, std::int64_t); \
  template void multiply(float, const T*, float*, std::int64_t); \
  template float dot(const T*, const T*, std::int64_t);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
