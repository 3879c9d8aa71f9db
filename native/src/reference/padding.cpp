// Zeros, the edge or a reflection around tiles, in any activation layout.
#include <algorithm>
#include <vector>

#include "../kernels/padding.hpp"
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// Throws Failure where an output shows an input that is beside the tile.
template <class T>
void padForward(const Pad& p, const ResampledAt& at, const T* source, T* destination) {
  const PaddedAxis rows = rowsOf(p, at), columns = columnsOf(p, at);
  rows.requireInputs();
  columns.requireInputs();
  const Planes planes(p.layout, p.batch, p.channels);
  const std::int64_t block = planes.block;
  std::vector<std::int64_t> inputs(static_cast<std::size_t>(p.outWidth));
  for (std::int64_t x = 0; x < p.outWidth; ++x) inputs[static_cast<std::size_t>(x)] = columns.shown(x);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    for (std::int64_t y = 0; y < p.outHeight; ++y) {
      const std::int64_t row = rows.shown(y);
      const T* in = source + (plane * p.inHeight + std::max<std::int64_t>(row, 0)) * p.inWidth * block;
      T* out = destination + (plane * p.outHeight + y) * p.outWidth * block;
      for (std::int64_t x = 0; x < p.outWidth; ++x) {
        const std::int64_t column = inputs[static_cast<std::size_t>(x)];
        const bool isShown = row != PaddedAxis::nothing && column != PaddedAxis::nothing;
        for (std::int64_t lane = 0; lane < block; ++lane) *out++ = isShown ? in[column * block + lane] : T(0);
      }
    }
  }
}

// The part of the source's gradient that comes from the outputs of the tile.
template <class T>
void padBackward(const Pad& p, const ResampledAt& at, const T* destinationGradient, T* sourceGradient) {
  const PaddedAxis rows = rowsOf(p, at), columns = columnsOf(p, at);
  const Planes planes(p.layout, p.batch, p.channels);
  const std::int64_t block = planes.block;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    for (std::int64_t y = 0; y < p.inHeight; ++y) {
      const T* from = destinationGradient + plane * p.outHeight * p.outWidth * block;
      T* to = sourceGradient + (plane * p.inHeight + y) * p.inWidth * block;
      std::vector<double> sums(static_cast<std::size_t>(block));
      const PaddedAxis::Runs ofRow = rows.showing(y);
      for (std::int64_t x = 0; x < p.inWidth; ++x) {
        std::fill(sums.begin(), sums.end(), 0.0);
        const PaddedAxis::Runs ofColumn = columns.showing(x);
        for (const PaddedAxis::Run& down : ofRow.runs)
          for (std::int64_t row = down.from; row < down.to; ++row)
            for (const PaddedAxis::Run& across : ofColumn.runs)
              for (std::int64_t column = across.from; column < across.to; ++column)
                for (std::int64_t lane = 0; lane < block; ++lane)
                  sums[static_cast<std::size_t>(lane)] += static_cast<double>(from[(row * p.outWidth + column) * block + lane]);
        for (std::int64_t lane = 0; lane < block; ++lane) *to++ = static_cast<T>(sums[static_cast<std::size_t>(lane)]);
      }
    }
  }
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compilePadding(const Kernel& kernel) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::padForward:
      return compiled([p = decode<Pad>(kernel)](const A& a) { padForward<T>(p, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
    case KernelKind::padBackward:
      return compiled([p = decode<Pad>(kernel)](const A& a) { padBackward<T>(p, a.resampledAt(), a.at<T>(0), a.at<T>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compilePadding)

}  // namespace tilefold::reference
