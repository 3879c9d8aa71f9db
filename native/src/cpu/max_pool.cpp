#include "max_pool.hpp"

#include "../reference/block_loop.hpp"
#include "../reference/pooling.hpp"
#include "lane_loops.hpp"
#include "parallel.hpp"
#include "vector_loops.hpp"

namespace tilefold::cpu {
namespace {

using reference::Planes;

// A winner is its place in the window, ky * kernelWidth + kx; this one (as maxPoolRow has it)
// stands for a window that sees only padding.
constexpr std::uint8_t nothing = 255;

bool fits(const Pool& p) {
  const bool blocked = p.layout != Layout::plain && p.layout != Layout::nhwc;
  return blocked && p.kernelHeight <= nothing && p.kernelHeight * p.kernelWidth <= nothing;
}

template <class T>
void forward(const Pool& p, const T* source, T* destination, std::uint8_t* indices) {
  const Planes planes(p.layout, p.batch, p.inChannels);
  const std::int64_t block = planes.block, row = p.outWidth * block;
  parallelFor(planes.count * p.outHeight, [&](std::int64_t job) {
    const std::int64_t plane = job / p.outHeight, y = job % p.outHeight, lanes = planes.lanes(plane);
    T* values = destination + job * row;
    maxPoolRow<T>({source + plane * p.inHeight * p.inWidth * block, y * p.strideHeight - p.padTop, rowsOf(p), columnsOf(p)}, values,
               indices + job * row, block);
    for (std::int64_t at = 0; lanes < block && at < row; at += block) std::fill(values + at + lanes, values + at + block, T(0.0F));
  });
}

// A row of sums in float, stored as T at its end.
template <class T>
class RowSum {
 public:
  RowSum(T* row, std::int64_t count) : row_(row), sums_(static_cast<std::size_t>(count), 0.0F) {}
  ~RowSum() { convert(sums_.data(), row_, static_cast<std::int64_t>(sums_.size())); }
  RowSum(const RowSum&) = delete;
  RowSum& operator=(const RowSum&) = delete;
  float* values() { return sums_.data(); }

 private:
  T* row_;
  std::vector<float> sums_;
};
template <>
class RowSum<float> {
 public:
  RowSum(float* row, std::int64_t count) : row_(row) { std::fill(row, row + count, 0.0F); }
  float* values() { return row_; }

 private:
  float* row_;
};

// By rows of the input, each gathering from the windows that hold it: no two threads add to one
// element.
template <int Block, class T>
void backward(const Pool& p, const T* destinationGradient, const std::uint8_t* indices, T* sourceGradient) {
  const Planes planes(p.layout, p.batch, p.inChannels);
  parallelFor(planes.count * p.inHeight, [&](std::int64_t job) {
    const std::int64_t plane = job / p.inHeight, row = job % p.inHeight;
    // Where windows overlap the sum is rounded once.
    RowSum<T> sum(sourceGradient + job * p.inWidth * Block, p.inWidth * Block);
    float* gradient = sum.values();
    for (std::int64_t ky = 0; ky < p.kernelHeight; ++ky) {
      const std::int64_t start = row + p.padTop - ky * p.dilationHeight;
      if (start < 0 || start % p.strideHeight != 0 || start / p.strideHeight >= p.outHeight) continue;
      const std::int64_t outRow = (plane * p.outHeight + start / p.strideHeight) * p.outWidth;
      for (std::int64_t x = 0; x < p.outWidth; ++x) {
        const T* received = destinationGradient + (outRow + x) * Block;
        const std::uint8_t* winner = indices + (outRow + x) * Block;
        for (std::int64_t kx = 0; kx < p.kernelWidth; ++kx) {
          const std::int64_t column = x * p.strideWidth + kx * p.dilationWidth - p.padLeft;
          if (column < 0 || column >= p.inWidth) continue;
          const std::int32_t place = static_cast<std::int32_t>(ky * p.kernelWidth + kx);
          float* element = gradient + column * Block;
#pragma omp simd
          for (int lane = 0; lane < Block; ++lane) element[lane] += winner[lane] == place ? static_cast<float>(received[lane]) : 0.0f;
        }
      }
    }
  });
}

template <int Block, class T>
Launch compileBlocked(KernelKind kind, const Pool& p) {
  if (kind == KernelKind::maxPoolForward)
    return [p](const std::vector<Operand>& operands, const StepParameters&) {
      forward(p, elements<const T>(operands, 0), elements<T>(operands, 1), elements<std::uint8_t>(operands, 2));
    };
  return [p](const std::vector<Operand>& operands, const StepParameters&) {
    backward<Block>(p, elements<const T>(operands, 0), elements<const std::uint8_t>(operands, 1), elements<T>(operands, 2));
  };
}

template <class T>
Launch compileReference(KernelKind kind, const Pool& p) {
  if (kind == KernelKind::maxPoolForward)
    return [p](const std::vector<Operand>& operands, const StepParameters&) {
      reference::maxPoolForward(p, elements<const T>(operands, 0), elements<T>(operands, 1), elements<std::int32_t>(operands, 2));
    };
  return [p](const std::vector<Operand>& operands, const StepParameters&) {
    reference::maxPoolBackward(p, elements<const T>(operands, 0), elements<const std::int32_t>(operands, 1), elements<T>(operands, 2));
  };
}

}  // namespace

std::size_t maxPoolIndicesBytes(const Pool& p) {
  if (!fits(p)) return reference::indicesBytes(p);
  return static_cast<std::size_t>(activationElements(p.layout, p.batch, p.inChannels, p.outHeight, p.outWidth));
}

template <class T>
Implementation compileMaxPool(KernelKind kind, const Pool& p) {
  if (!fits(p)) return {compileReference<T>(kind, p), "reference"};
  return {channelBlock(p.layout) == 16 ? compileBlocked<16, T>(kind, p) : compileBlocked<8, T>(kind, p), "blocked loops"};
}

template Implementation compileMaxPool<float>(KernelKind, const Pool&);
template Implementation compileMaxPool<Bfloat16>(KernelKind, const Pool&);

}  // namespace tilefold::cpu
