// Resizing and adaptive pooling (resampling.hpp) of tiles, in any activation layout; padding lanes
// stay zero.
#include <algorithm>
#include <vector>

#include "../kernels/resampling.hpp"
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// Throws Failure where an output needs an input that is beside the tile.
template <class T>
void resampleForward(const Resampled& r, Resampling kind, const ResampledAt& at, const T* source, T* destination) {
  const Planes planes(r.layout, r.batch, r.channels);
  const std::int64_t block = planes.block;
  const std::vector<Reading> rows = rowsOf(r, kind, at).readings(), columns = columnsOf(r, kind, at).readings();
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    std::vector<double> sums(static_cast<std::size_t>(block));
    const T* in = source + plane * r.inHeight * r.inWidth * block;
    T* out = destination + plane * r.outHeight * r.outWidth * block;
    for (const Reading& row : rows) {
      for (const Reading& column : columns) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t y = row.from; y < row.to; ++y)
          for (std::int64_t x = column.from; x < column.to; ++x) {
            const double weight = row.weight(y) * column.weight(x);
            for (std::int64_t lane = 0; lane < block; ++lane)
              sums[static_cast<std::size_t>(lane)] += weight * static_cast<double>(in[(y * r.inWidth + x) * block + lane]);
          }
        for (std::int64_t lane = 0; lane < block; ++lane) *out++ = static_cast<T>(sums[static_cast<std::size_t>(lane)]);
      }
    }
  }
}

// The part of the source's gradient that comes from the outputs of the tile.
template <class T>
void resampleBackward(const Resampled& r, Resampling kind, const ResampledAt& at, const T* destinationGradient, T* sourceGradient) {
  const Planes planes(r.layout, r.batch, r.channels);
  const std::int64_t block = planes.block;
  const ResampledAxis::Transposed rows = rowsOf(r, kind, at).transposed(), columns = columnsOf(r, kind, at).transposed();
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    std::vector<double> sums(static_cast<std::size_t>(block));
    const T* out = destinationGradient + plane * r.outHeight * r.outWidth * block;
    T* gradient = sourceGradient + plane * r.inHeight * r.inWidth * block;
    for (std::int64_t y = 0; y < r.inHeight; ++y) {
      const auto rowReaders = rows.readers[static_cast<std::size_t>(y)];
      for (std::int64_t x = 0; x < r.inWidth; ++x) {
        const auto columnReaders = columns.readers[static_cast<std::size_t>(x)];
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t p = rowReaders.begin; p < rowReaders.end; ++p)
          for (std::int64_t q = columnReaders.begin; q < columnReaders.end; ++q) {
            const double weight =
                rows.readings[static_cast<std::size_t>(p)].weight(y) * columns.readings[static_cast<std::size_t>(q)].weight(x);
            for (std::int64_t lane = 0; lane < block; ++lane)
              sums[static_cast<std::size_t>(lane)] += weight * static_cast<double>(out[(p * r.outWidth + q) * block + lane]);
          }
        for (std::int64_t lane = 0; lane < block; ++lane) *gradient++ = static_cast<T>(sums[static_cast<std::size_t>(lane)]);
      }
    }
  }
}

template <class T>
std::unique_ptr<CompiledKernel> resampling(const Resampled& r, Resampling kind, bool forward) {
  if (forward) return compiled([=](const Arguments& a) { resampleForward<T>(r, kind, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
  return compiled([=](const Arguments& a) { resampleBackward<T>(r, kind, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileResampling(const Kernel& kernel) {
  switch (kernel.kind) {
    case KernelKind::resizeForward:
    case KernelKind::resizeBackward: {
      const auto r = decode<Resize>(kernel);
      return resampling<T>(r, resamplingOf(r), kernel.kind == KernelKind::resizeForward);
    }
    case KernelKind::adaptivePoolForward:
    case KernelKind::adaptivePoolBackward:
      return resampling<T>(decode<Resampled>(kernel), Resampling::adaptive, kernel.kind == KernelKind::adaptivePoolForward);
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileResampling)

}  // namespace tilefold::reference
