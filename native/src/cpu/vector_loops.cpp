#include "vector_loops.hpp"

#include <cmath>
#include <limits>

#include "lanes.hpp"

namespace tilefold::cpu {
namespace {

template <int Block>
TILEFOLD_INLINE void addLanes(const typename Lanes<Block>::Type& sum, double* lanes) {
  for (int lane = 0; lane < Block; ++lane) lanes[lane] += static_cast<double>(sum[lane]);
}

// The matrix stays in registers while the row streams past.
template <int Block>
TILEFOLD_INLINE void multiplyRowBlock(const MatrixRow& row, const float* matrix, float* result, std::int64_t resultStep) {
  using Vector = Lanes<Block>;
  if (row.lanes == Block && row.laneStep == 1) {
    typename Vector::Type weights[Block];
    for (int q = 0; q < Block; ++q) weights[q] = Vector::at(matrix + q * Block);
    for (std::int64_t p = 0; p < row.count; ++p) {
      const float* operand = row.operand + p * row.pixelStep;
      typename Vector::Type sum = Vector::at(result + p * resultStep);
      for (int q = 0; q < Block; ++q) sum += operand[q] * weights[q];
      Vector::put(result + p * resultStep, sum);
    }
    return;
  }
  for (std::int64_t q = 0; q < row.lanes; ++q) {
    const typename Vector::Type weights = Vector::at(matrix + q * Block);
    for (std::int64_t p = 0; p < row.count; ++p)
      Vector::put(result + p * resultStep,
                  Vector::at(result + p * resultStep) + row.operand[p * row.pixelStep + q * row.laneStep] * weights);
  }
}

template <int Block>
TILEFOLD_INLINE void multiplyGradientBlock(const GradientRows& rows, double* matrix) {
  using Vector = Lanes<Block>;
  if (rows.lanes == Block && rows.laneStep == 1) {
    typename Vector::Type sums[Block] = {};
    for (std::int64_t y = 0; y < rows.rows; ++y)
      for (std::int64_t p = 0; p < rows.count; ++p) {
        const float* operand = rows.operand + y * rows.rowStep + p * rows.pixelStep;
        const typename Vector::Type gradient = Vector::at(rows.gradient + y * rows.gradientRowStep + p * Block);
        for (int q = 0; q < Block; ++q) sums[q] += operand[q] * gradient;
      }
    for (int q = 0; q < Block; ++q) addLanes<Block>(sums[q], matrix + q * Block);
    return;
  }
  // One channel is one sum: several at once hide the time that an addition takes.
  constexpr int chains = 4;
  for (std::int64_t q = 0; q < rows.lanes; ++q) {
    typename Vector::Type sums[chains] = {};
    for (std::int64_t y = 0; y < rows.rows; ++y) {
      const float* operand = rows.operand + y * rows.rowStep + q * rows.laneStep;
      const float* gradient = rows.gradient + y * rows.gradientRowStep;
      std::int64_t p = 0;
      for (; p + chains <= rows.count; p += chains)
        for (int chain = 0; chain < chains; ++chain)
          sums[chain] += operand[(p + chain) * rows.pixelStep] * Vector::at(gradient + (p + chain) * Block);
      for (; p < rows.count; ++p) sums[0] += operand[p * rows.pixelStep] * Vector::at(gradient + p * Block);
    }
    addLanes<Block>((sums[0] + sums[1]) + (sums[2] + sums[3]), matrix + q * Block);
  }
}

// A run of pixels is summed in float and the runs in double: fast, and exact enough for millions of
// pixels.
template <int Block, class T>
TILEFOLD_INLINE void addPixelsBlock(const T* pixels, double* lanes, std::int64_t count) {
  constexpr std::int64_t run = 64;
  for (std::int64_t begin = 0; begin < count; begin += run) {
    const std::int64_t end = begin + run < count ? begin + run : count;
    typename Lanes<Block>::Type sum = {};
    for (std::int64_t p = begin; p < end; ++p) sum += Lanes<Block>::at(pixels + p * Block);
    addLanes<Block>(sum, lanes);
  }
}

template <int Block, bool Sum, class T>
TILEFOLD_INLINE void copyPixels(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t count) {
  for (std::int64_t p = 0; p < count; ++p) {
    T* pixel = to.first + p * to.step;
    if constexpr (Sum)
      Lanes<Block>::put(pixel, Lanes<Block>::at(pixel) + Lanes<Block>::at(from.first + p * from.step));
    else
      std::memcpy(static_cast<void*>(pixel), from.first + p * from.step, Block * sizeof(T));
  }
}

template <bool Sum, class T>
TILEFOLD_INLINE void copyLanesAs(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t lanes, std::int64_t count) {
  if (lanes == from.step && lanes == to.step) {
    if constexpr (Sum) {
#pragma omp simd
      for (std::int64_t i = 0; i < lanes * count; ++i) to.first[i] += from.first[i];
    } else {
      std::memcpy(static_cast<void*>(to.first), from.first, static_cast<std::size_t>(lanes * count) * sizeof(T));
    }
    return;
  }
  std::int64_t lane = 0;
  for (; lane + 16 <= lanes; lane += 16) copyPixels<16, Sum, T>({from.first + lane, from.step}, {to.first + lane, to.step}, count);
  for (; lane + 8 <= lanes; lane += 8) copyPixels<8, Sum, T>({from.first + lane, from.step}, {to.first + lane, to.step}, count);
  for (; lane < lanes; ++lane)
    for (std::int64_t p = 0; p < count; ++p) {
      T& element = to.first[p * to.step + lane];
      element = Sum ? static_cast<T>(element + from.first[p * from.step + lane]) : from.first[p * from.step + lane];
    }
}

template <int Block, class T>
TILEFOLD_INLINE void maxPoolRowBlock(const PoolRow<T>& row, T* values, std::uint8_t* indices) {
  using Vector = Lanes<Block>;
  using Floats = typename Vector::Floats;
  using Integers = typename Vector::Integers;
  const WindowAxis rows = row.rows, columns = row.columns;
  for (std::int64_t x = 0; x < columns.out; ++x) {
    Floats held = Floats{} - std::numeric_limits<float>::infinity();
    Integers winner = Integers{} + 255;
    for (std::int64_t ky = 0; ky < rows.kernel; ++ky) {
      const std::int64_t y = row.top + ky * rows.dilation;
      if (y < 0 || y >= rows.in) continue;
      for (std::int64_t kx = 0; kx < columns.kernel; ++kx) {
        const std::int64_t column = x * columns.stride + kx * columns.dilation - columns.padBefore;
        if (column < 0 || column >= columns.in) continue;
        const Floats candidate = Vector::at(row.source + (y * columns.in + column) * Block);
        const Integers wins = (candidate > held) | (winner == 255) | ((candidate != candidate) & (held == held));
        held = wins ? candidate : held;
        winner = wins ? Integers{} + static_cast<std::int32_t>(ky * columns.kernel + kx) : winner;
      }
    }
    Vector::put(values + x * Block, held);
    for (int lane = 0; lane < Block; ++lane) indices[x * Block + lane] = static_cast<std::uint8_t>(winner[lane]);
  }
}

}  // namespace

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

template <class T>
void copyLanes(const PixelsFrom<T>& from, const PixelsTo<T>& to, std::int64_t lanes, std::int64_t count, bool sum) {
  forProcessor([=, &from, &to]() TILEFOLD_INLINED {
    if (sum)
      copyLanesAs<true>(from, to, lanes, count);
    else
      copyLanesAs<false>(from, to, lanes, count);
  });
}

void fillPixels(const float* lanes, float* pixels, std::int64_t count, std::int64_t block) {
  forProcessor([=]() TILEFOLD_INLINED {
    for (std::int64_t p = 0; p < count; ++p)
      if (block == 16)
        Lanes<16>::put(pixels + p * 16, Lanes<16>::at(lanes));
      else
        Lanes<8>::put(pixels + p * 8, Lanes<8>::at(lanes));
  });
}

template <class T>
void addPixels(const T* pixels, double* lanes, std::int64_t count, std::int64_t block) {
  forProcessor([=]() TILEFOLD_INLINED {
    if (block == 16)
      addPixelsBlock<16>(pixels, lanes, count);
    else
      addPixelsBlock<8>(pixels, lanes, count);
  });
}

void sgdUpdate(const SgdStep& step, float* weights, const float* gradient, float* velocity, std::int64_t count) {
  forProcessor([=, &step]() TILEFOLD_INLINED {
    const SgdStep s = step;
    if (velocity == nullptr) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) weights[i] -= s.rate * (gradient[i] + s.weightDecay * weights[i]);
      return;
    }
    // At the first step the velocity's memory may hold anything, so it must not be multiplied by 0.
    if (s.first) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) velocity[i] = gradient[i] + s.weightDecay * weights[i];
    } else {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) velocity[i] = s.momentum * velocity[i] + (gradient[i] + s.weightDecay * weights[i]);
    }
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) weights[i] -= s.rate * velocity[i];
  });
}

void adamUpdate(const AdamStep& step, float* weights, const float* gradient, float* firstMoment, float* secondMoment, std::int64_t count) {
  forProcessor([=, &step]() TILEFOLD_INLINED {
    const AdamStep s = step;
    for (std::int64_t i = 0; i < count; ++i) {
      const float weight = weights[i] * s.shrink;
      const float g = gradient[i] + s.decay * weights[i];
      firstMoment[i] = s.beta1 * firstMoment[i] + s.rest1 * g;
      secondMoment[i] = s.beta2 * secondMoment[i] + s.rest2 * g * g;
      weights[i] = weight - s.stepSize * (firstMoment[i] / (std::sqrt(secondMoment[i]) / s.secondCorrection + s.epsilon));
    }
  });
}

template <class T>
void maxPoolRow(const PoolRow<T>& row, T* values, std::uint8_t* indices, std::int64_t block) {
  forProcessor([=, &row]() TILEFOLD_INLINED {
    if (block == 16)
      maxPoolRowBlock<16>(row, values, indices);
    else
      maxPoolRowBlock<8>(row, values, indices);
  });
}

void multiplyRow(const MatrixRow& row, const float* matrix, float* result, std::int64_t resultStep, std::int64_t block) {
  forProcessor([=, &row]() TILEFOLD_INLINED {
    if (block == 16)
      multiplyRowBlock<16>(row, matrix, result, resultStep);
    else
      multiplyRowBlock<8>(row, matrix, result, resultStep);
  });
}

void multiplyGradient(const GradientRows& rows, double* matrix, std::int64_t block) {
  forProcessor([=, &rows]() TILEFOLD_INLINED {
    if (block == 16)
      multiplyGradientBlock<16>(rows, matrix);
    else
      multiplyGradientBlock<8>(rows, matrix);
  });
}

#define TILEFOLD_INSTANTIATE(T)                                                                              \
  template void rectify(const T*, T*, std::int64_t, float);                                                 \
  template void rectifyGradient(const T*, const T*, T*, std::int64_t, float);                               \
  template void add(const T*, T*, std::int64_t);                                                            \
  template void addRectified(const T*, const T*, T*, std::int64_t, float);                                  \
  template void copyLanes(const PixelsFrom<T>&, const PixelsTo<T>&, std::int64_t, std::int64_t, bool);      \
  template void addScaled(float, const T*, float*, std::int64_t);                                           \
  template void multiply(float, const T*, float*, std::int64_t);                                            \
  template float dot(const T*, const T*, std::int64_t);                                                     \
  template void addPixels(const T*, double*, std::int64_t, std::int64_t);                                   \
  template void maxPoolRow(const PoolRow<T>&, T*, std::uint8_t*, std::int64_t);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
