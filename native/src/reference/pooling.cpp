#include "pooling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "../kernels/average_window.hpp"
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// The places of a window that begins at `start` which lie inside the input: [from, to).
struct Places {
  std::int64_t from, to;
};

Places inside(std::int64_t start, std::int64_t dilation, std::int64_t kernel, std::int64_t in) {
  return {start >= 0 ? 0 : (-start + dilation - 1) / dilation, start >= in ? 0 : std::min(kernel, (in - 1 - start) / dilation + 1)};
}

double share(const AverageWindow& rows, const AverageWindow& columns) {
  // In double: a window far larger than its input has more places than 64 bits count.
  const double size = static_cast<double>(rows.size) * static_cast<double>(columns.size);
  return size > 0 ? 1.0 / size : 0.0;
}

// What `add` adds to so many sums, which are values[] and begin at zero; those of bf16 are float32
// while they grow, so that each is rounded once.
template <class T, class Add>
void sumInto(T* values, std::int64_t count, const Add& add) {
  if constexpr (std::is_same_v<T, ParameterOf<T>>) {
    std::fill(values, values + count, T(0));
    add(values);
  } else {
    std::vector<ParameterOf<T>> sums(static_cast<std::size_t>(count));
    add(sums.data());
    std::transform(sums.begin(), sums.end(), values, [](ParameterOf<T> sum) { return static_cast<T>(sum); });
  }
}

}  // namespace

std::size_t indicesBytes(const Pool& p) {
  if (checkedMultiply(p.inHeight, p.inWidth) > std::numeric_limits<std::int32_t>::max())
    throw Failure("a max pool over " + std::to_string(p.inHeight) + "x" + std::to_string(p.inWidth) + " pixels is too large: tile it");
  const std::int64_t elements = activationElements(p.layout, p.batch, p.inChannels, p.outHeight, p.outWidth);
  return static_cast<std::size_t>(checkedMultiply(elements, sizeof(std::int32_t)));
}

template <class T>
void maxPoolForward(const Pool& p, const T* source, T* destination, std::int32_t* indices) {
  const Planes planes(p.layout, p.batch, p.inChannels);
  const std::int64_t block = planes.block;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    const T* in = source + plane * p.inHeight * p.inWidth * block;
    std::int64_t at = plane * p.outHeight * p.outWidth * block;
    for (std::int64_t y = 0; y < p.outHeight; ++y) {
      const std::int64_t top = y * p.strideHeight - p.padTop;
      const Places rows = inside(top, p.dilationHeight, p.kernelHeight, p.inHeight);
      for (std::int64_t x = 0; x < p.outWidth; ++x, at += block) {
        T* best = destination + at;
        std::int32_t* winner = indices + at;
        std::fill(best, best + block, -std::numeric_limits<ParameterOf<T>>::infinity());
        std::fill(winner, winner + block, -1);
        const std::int64_t left = x * p.strideWidth - p.padLeft;
        const Places columns = inside(left, p.dilationWidth, p.kernelWidth, p.inWidth);
        for (std::int64_t ky = rows.from; ky < rows.to; ++ky) {
          const std::int64_t row = top + ky * p.dilationHeight;
          for (std::int64_t kx = columns.from; kx < columns.to; ++kx) {
            const std::int64_t column = left + kx * p.dilationWidth;
            const std::int64_t pixel = row * p.inWidth + column;
            for (std::int64_t lane = 0; lane < block; ++lane) {
              const T value = in[pixel * block + lane];
              if (value > best[lane] || winner[lane] < 0 || (std::isnan(value) && !std::isnan(best[lane]))) {
                best[lane] = value;
                winner[lane] = static_cast<std::int32_t>(pixel);
              }
            }
          }
        }
        for (std::int64_t lane = planes.lanes(plane); lane < block; ++lane) best[lane] = 0;
      }
    }
  }
}

template <class T>
void maxPoolBackward(const Pool& p, const T* destinationGradient, const std::int32_t* indices, T* sourceGradient) {
  const Planes planes(p.layout, p.batch, p.inChannels);
  const std::int64_t block = planes.block, pixels = p.inHeight * p.inWidth, outputs = p.outHeight * p.outWidth;
  bool outside = false;
#pragma omp parallel for schedule(static) reduction(|| : outside)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    sumInto(sourceGradient + plane * pixels * block, pixels * block, [&](ParameterOf<T>* gradient) {
      for (std::int64_t out = 0; out < outputs; ++out) {
        for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane) {
          const std::int64_t at = (plane * outputs + out) * block + lane;
          // Read once, so that what was checked is what is used, whoever writes there meanwhile.
          const std::int32_t winner = __atomic_load_n(indices + at, __ATOMIC_RELAXED);
          if (winner < 0) continue;
          if (winner >= pixels)
            outside = true;
          else
            gradient[winner * block + lane] += destinationGradient[at];
        }
      }
    });
  }
  if (outside) throw Failure("maxPoolBackward read indices that no maxPoolForward wrote: stage the program again");
}

template void maxPoolForward(const Pool&, const float*, float*, std::int32_t*);
template void maxPoolBackward(const Pool&, const float*, const std::int32_t*, float*);
template void maxPoolForward(const Pool&, const Bfloat16*, Bfloat16*, std::int32_t*);
template void maxPoolBackward(const Pool&, const Bfloat16*, const std::int32_t*, Bfloat16*);

namespace {

Pool countableMaxPool(const Kernel& kernel) {
  const auto p = decode<Pool>(kernel);
  indicesBytes(p);
  return p;
}

template <class T>
void averagePoolForward(const AveragePool& p, const T* source, T* destination) {
  const Planes planes(p.layout, p.batch, p.inChannels);
  const AverageAxis rowAxis = averageRows(p), columnAxis = averageColumns(p);
  const std::int64_t block = planes.block;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    const T* in = source + plane * p.inHeight * p.inWidth * block;
    T* out = destination + plane * p.outHeight * p.outWidth * block;
    std::vector<double> sums(static_cast<std::size_t>(block));
    for (std::int64_t y = 0; y < p.outHeight; ++y) {
      const AverageWindow rows = rowAxis.window(y);
      for (std::int64_t x = 0; x < p.outWidth; ++x, out += block) {
        const AverageWindow columns = columnAxis.window(x);
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t row = rows.from; row < rows.to; ++row)
          for (std::int64_t column = columns.from; column < columns.to; ++column)
            for (std::int64_t lane = 0; lane < block; ++lane)
              sums[static_cast<std::size_t>(lane)] += static_cast<double>(in[(row * p.inWidth + column) * block + lane]);
        const double scale = share(rows, columns);
        for (std::int64_t lane = 0; lane < block; ++lane) out[lane] = static_cast<T>(sums[static_cast<std::size_t>(lane)] * scale);
      }
    }
  }
}

template <class T>
void averagePoolBackward(const AveragePool& p, const T* destinationGradient, T* sourceGradient) {
  const Planes planes(p.layout, p.batch, p.inChannels);
  const AverageAxis rowAxis = averageRows(p), columnAxis = averageColumns(p);
  const std::int64_t block = planes.block, pixels = p.inHeight * p.inWidth;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    const T* out = destinationGradient + plane * p.outHeight * p.outWidth * block;
    sumInto(sourceGradient + plane * pixels * block, pixels * block, [&](ParameterOf<T>* gradient) {
      for (std::int64_t y = 0; y < p.outHeight; ++y) {
        const AverageWindow rows = rowAxis.window(y);
        for (std::int64_t x = 0; x < p.outWidth; ++x, out += block) {
          const AverageWindow columns = columnAxis.window(x);
          const auto scale = static_cast<ParameterOf<T>>(share(rows, columns));
          for (std::int64_t row = rows.from; row < rows.to; ++row)
            for (std::int64_t column = columns.from; column < columns.to; ++column)
              for (std::int64_t lane = 0; lane < block; ++lane) gradient[(row * p.inWidth + column) * block + lane] += scale * out[lane];
        }
      }
    });
  }
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compilePooling(const Kernel& kernel) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::maxPoolForward:
      return compiled([p = countableMaxPool(kernel)](const A& a) { maxPoolForward<T>(p, a.at<T>(0), a.at<T>(1), a.at<std::int32_t>(2)); });
    case KernelKind::maxPoolBackward:
      return compiled([p = countableMaxPool(kernel)](const A& a) { maxPoolBackward<T>(p, a.at<T>(0), a.at<std::int32_t>(1), a.at<T>(2)); });
    case KernelKind::averagePoolForward:
      return compiled([p = decode<AveragePool>(kernel)](const A& a) { averagePoolForward<T>(p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::averagePoolBackward:
      return compiled([p = decode<AveragePool>(kernel)](const A& a) { averagePoolBackward<T>(p, a.at<T>(0), a.at<T>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compilePooling)

}  // namespace tilefold::reference
