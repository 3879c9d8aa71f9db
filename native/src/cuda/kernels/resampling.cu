// Resizing and adaptive pooling (../kernels/resampling.hpp) of tiles, plain or nhwc. Semantics:
// reference/resampling.cpp; backward gathers.
#include <type_traits>

#include "../../kernels/resampling.hpp"
#include "activation.cuh"
#include "compiled.hpp"
#include "families.hpp"
#include "reduction.cuh"
#include "resampled_axis.cuh"

namespace tilefold::cuda {
namespace {

// Windows of so many terms are summed by many threads each.
constexpr std::int64_t largeWindow = 128;
// Neighbours in a row of such a window that a thread loads before it adds the first.
constexpr int runColumns = 4;

struct Plane {
  std::int64_t height, width;
  __host__ __device__ std::int64_t pixels() const { return height * width; }
};

// Up to `most` channels of a pixel are worked on at once, so that what the pixel is made of is
// found once for all of them: channels that lie side by side of nhwc, planes of any image of plain.
template <int most>
class Bundles {
 public:
  struct Bundle {
    // The first; of plain, planes of all images are counted as channels.
    std::int64_t image, channel;
    std::int64_t row, column;
    int width;
  };

  Bundles(const Resampled& r, const Plane& plane)
      : channelsLast_(r.layout == Layout::nhwc && r.channels > 1),
        channels_(channelsLast_ ? r.channels : r.batch * r.channels),
        count_((channelsLast_ ? r.batch : 1) * groups() * plane.pixels()),
        places_(channelsLast_ ? Layout::nhwc : Layout::plain, groups(), plane.height, plane.width) {}

  std::int64_t count() const { return count_; }
  // Whether several bundles of a pixel follow each other.
  bool sideBySide() const { return channelsLast_ && groups() > 1; }

  __device__ Bundle operator()(std::int64_t item) const {
    const Place at = places_.place(item);
    const std::int64_t channel = at.channel * most, left = channels_ - channel;
    return {at.image, channel, at.row, at.column, left < most ? static_cast<int>(left) : most};
  }

  // A bundle's first element in a tile of so many pixels; the pixels and the channels that follow.
  __device__ std::int64_t first(const Bundle& b, std::int64_t pixels) const {
    return channelsLast_ ? b.image * pixels * channels_ + b.channel : b.channel * pixels;
  }
  __device__ std::int64_t pixelStride() const { return channelsLast_ ? channels_ : 1; }
  __device__ std::int64_t channelStride(std::int64_t pixels) const { return channelsLast_ ? 1 : pixels; }

 private:
  std::int64_t groups() const { return (channels_ + most - 1) / most; }

  bool channelsLast_;
  std::int64_t channels_, count_;
  Activation places_;
};

template <bool packed, class T>
__device__ Pack<float, packWidth> loaded(const T* from, std::int64_t stride, int width) {
  Pack<float, packWidth> values;
  if constexpr (packed) {
    values.load(from);
  } else {
    for (int k = 0; k < packWidth; ++k) values[k] = k < width ? static_cast<float>(from[k * stride]) : 0.0F;
  }
  return values;
}

template <bool packed, class T>
__device__ void stored(const Pack<float, packWidth>& values, T* to, std::int64_t stride, int width) {
  if constexpr (packed) {
    values.store(to);
  } else {
    for (int k = 0; k < packWidth; ++k)
      if (k < width) to[k * stride] = static_cast<T>(values[k]);
  }
}

// Every result is the sum of its terms in `operand`; rowTerms and columnTerms give a coordinate's.
// What a row adds up to is of type Part.
template <bool packed, class Part, class RowTerms, class ColumnTerms, class T>
void gather(const Context& context, const char* name, const Bundles<packWidth>& bundles, const Plane& from, const Plane& to,
            const RowTerms& rowTerms, const ColumnTerms& columnTerms, const T* operand, T* result) {
  forEach(context, name, bundles.count(), [=] __device__(std::int64_t i) {
    const auto b = bundles(i);
    const auto rows = rowTerms(b.row);
    const auto columns = columnTerms(b.column);
    const std::int64_t pixelStride = bundles.pixelStride();
    const T* const first = operand + bundles.first(b, from.pixels()) + (rows.from * from.width + columns.from) * pixelStride;
    double sums[packWidth] = {};
    for (int y = 0; y < rows.count; ++y) {
      Part parts[packWidth] = {};
      for (int x = 0; x < columns.count; ++x) {
        const Part weight = columns.weight(x);
        const auto values = loaded<packed>(first + (y * from.width + x) * pixelStride, bundles.channelStride(from.pixels()), b.width);
        for (int k = 0; k < packWidth; ++k) parts[k] += weight * static_cast<Part>(values[k]);
      }
      const auto weight = static_cast<double>(rows.weight(y));
      for (int k = 0; k < packWidth; ++k) sums[k] += weight * static_cast<double>(parts[k]);
    }
    Pack<float, packWidth> totals;
    for (int k = 0; k < packWidth; ++k) totals[k] = static_cast<float>(sums[k]);
    stored<packed>(totals, result + bundles.first(b, to.pixels()) + (b.row * to.width + b.column) * pixelStride,
                   bundles.channelStride(to.pixels()), b.width);
  });
}

// The terms of a large window's sums, each of a run of columns; windows that are smaller than the
// largest lack some.
template <int width, class Part, class Rows, class Columns, class T>
struct WindowRuns {
  Rows rows;
  Columns columns;
  const T* first;
  std::int64_t rowStride, pixelStride;
  Divisor byRuns;

  __device__ Sums<width> operator()(std::int64_t run) const {
    const Division place = byRuns(run);
    const int y = static_cast<int>(place.quotient), x = static_cast<int>(place.remainder) * runColumns;
    Sums<width> sums{};
    if (y >= rows.count || x >= columns.count) return sums;
    // No branch around a load, or compilers wait for it there: the last column stands for those
    // behind it, which are not added.
    const T* own = first + y * rowStride + x * pixelStride;
    Pack<float, width> values[runColumns];
#pragma unroll
    for (int j = 0; j < runColumns; ++j) {
      values[j].load(own);
      own += x + j + 1 < columns.count ? pixelStride : 0;
    }
    Part parts[width] = {};
#pragma unroll
    for (int j = 0; j < runColumns; ++j) {
      const Part weight = columns.weight(x + j);
      for (int k = 0; k < width; ++k) parts[k] += x + j < columns.count ? weight * static_cast<Part>(values[j][k]) : 0;
    }
    const auto weight = static_cast<double>(rows.weight(y));
    for (int k = 0; k < width; ++k) sums.values[k] = weight * static_cast<double>(parts[k]);
    return sums;
  }
};

// The same of large windows; a bundle's channels, if several, lie side by side.
template <int lanes, class Part, int width, class RowTerms, class ColumnTerms, class T>
void gatherLarge(const Context& context, const char* name, const Bundles<width>& bundles, const Plane& from, const Plane& to,
                 const RowTerms& rowTerms, const ColumnTerms& columnTerms, const T* operand, T* result) {
  const std::int64_t runs = (std::min(columnTerms.most(), from.width) + runColumns - 1) / runColumns;
  const Divisor byRuns(runs);
  const std::int64_t allRuns = std::min(rowTerms.most(), from.height) * runs;
  forEachSum<lanes>(
      context, name, bundles.count(), allRuns,
      [=] __device__(std::int64_t i) {
        const auto b = bundles(i);
        const auto rows = rowTerms(b.row);
        const auto columns = columnTerms(b.column);
        const std::int64_t pixelStride = bundles.pixelStride(), rowStride = from.width * pixelStride;
        const T* const first = operand + bundles.first(b, from.pixels()) + rows.from * rowStride + columns.from * pixelStride;
        return WindowRuns<width, Part, std::decay_t<decltype(rows)>, std::decay_t<decltype(columns)>, T>{
            rows, columns, first, rowStride, pixelStride, byRuns};
      },
      [=] __device__(std::int64_t i, const Sums<width>& sums) {
        const auto b = bundles(i);
        Pack<float, width> totals;
        for (int k = 0; k < width; ++k) totals[k] = static_cast<float>(sums.values[k]);
        totals.store(result + bundles.first(b, to.pixels()) + (b.row * to.width + b.column) * bundles.pixelStride());
      },
      termsPerThread / runColumns);
}

// Both ends of a tile tell for all of it, since outputs further on are made of inputs further on.
void requireInputs(const ResampledAxis& axis) {
  const Reading first = axis.reading(axis.destination), last = axis.reading(axis.destination + axis.out - 1);
  if (first.from < axis.source || last.to > axis.source + axis.in) axis.readings();
}

// Few terms are summed in float32; an adaptive pool may have many.
template <Resampling kind>
using PartOf = std::conditional_t<kind == Resampling::adaptive, double, float>;

template <Resampling kind>
struct InputsOfAxis {
  static constexpr bool mayBeMany = kind == Resampling::adaptive;
  AxisOfResampling<kind> axis;
  std::int64_t most() const { return axis.maxInputs(); }
  __device__ auto operator()(std::int64_t output) const { return axis.template inputs<PartOf<kind>>(output); }
};

template <Resampling kind>
struct OutputsOfAxis {
  static constexpr bool mayBeMany = true;
  AxisOfResampling<kind> axis;
  std::int64_t most() const { return axis.maxOutputs(); }
  __device__ auto operator()(std::int64_t input) const { return axis.template outputs<PartOf<kind>>(input); }
};

template <Resampling kind, template <Resampling> class Terms, class T>
void gatherAxes(const Context& context, const char* name, const Resampled& r, const ResampledAt& at, const Plane& from, const Plane& to,
                const T* operand, T* result) {
  const Terms<kind> rows{AxisOfResampling<kind>(rowsOf(r, kind, at))}, columns{AxisOfResampling<kind>(columnsOf(r, kind, at))};
  using Part = PartOf<kind>;
  // By the whole axes, so that tiles and the whole go the same way.
  if constexpr (Terms<kind>::mayBeMany) {
    if (rows.most() * columns.most() >= largeWindow) {
      const Bundles<1> single(r, to);
      const Bundles<2> pairs(r, to);
      // Neighbouring threads read neighbours: columns where a window has enough for a block and no
      // channels lie beside them.
      const std::int64_t terms = std::min(rows.most(), from.height) * std::min(columns.most(), from.width);
      if (!pairs.sideBySide() && terms >= runColumns * sumThreads)
        return gatherLarge<1, Part>(context, name, single, from, to, rows, columns, operand, result);
      if (r.layout == Layout::nhwc && r.channels % 2 == 0 && aligned({operand, result}, 2 * sizeof(T)))
        return gatherLarge<32, Part>(context, name, pairs, from, to, rows, columns, operand, result);
      return gatherLarge<32, Part>(context, name, single, from, to, rows, columns, operand, result);
    }
  }
  const Bundles<packWidth> bundles(r, to);
  if (r.layout == Layout::nhwc && r.channels % packWidth == 0 && aligned({operand, result}))
    gather<true, Part>(context, name, bundles, from, to, rows, columns, operand, result);
  else
    gather<false, Part>(context, name, bundles, from, to, rows, columns, operand, result);
}

template <template <Resampling> class Terms, class T>
void gatherBy(Resampling kind, const Context& context, const char* name, const Resampled& r, const ResampledAt& at, const Plane& from,
              const Plane& to, const T* operand, T* result) {
  switch (kind) {
    case Resampling::nearest:
      return gatherAxes<Resampling::nearest, Terms>(context, name, r, at, from, to, operand, result);
    case Resampling::bilinear:
      return gatherAxes<Resampling::bilinear, Terms>(context, name, r, at, from, to, operand, result);
    case Resampling::alignedCorners:
      return gatherAxes<Resampling::alignedCorners, Terms>(context, name, r, at, from, to, operand, result);
    case Resampling::adaptive:
      return gatherAxes<Resampling::adaptive, Terms>(context, name, r, at, from, to, operand, result);
  }
}

// Throws Failure where an output needs an input that is beside the tile.
template <class T>
void resampleForward(const Context& context, const Resampled& r, Resampling kind, const ResampledAt& at, const T* source, T* destination) {
  requireInputs(rowsOf(r, kind, at));
  requireInputs(columnsOf(r, kind, at));
  const char* const name = kind == Resampling::adaptive ? "adaptivePoolForward" : "resizeForward";
  gatherBy<InputsOfAxis>(kind, context, name, r, at, {r.inHeight, r.inWidth}, {r.outHeight, r.outWidth}, source, destination);
}

template <class T>
void resampleBackward(const Context& context, const Resampled& r, Resampling kind, const ResampledAt& at, const T* destinationGradient,
                      T* sourceGradient) {
  const char* const name = kind == Resampling::adaptive ? "adaptivePoolBackward" : "resizeBackward";
  gatherBy<OutputsOfAxis>(kind, context, name, r, at, {r.outHeight, r.outWidth}, {r.inHeight, r.inWidth}, destinationGradient, sourceGradient);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileResampling(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::resizeForward:
      return compiled(context, [r = tiled<Resize>(kernel)](const A& a) {
        resampleForward<T>(a.context, r, resamplingOf(r), a.resampledAt(), a.at<T>(0), a.at<T>(1));
      });
    case KernelKind::resizeBackward:
      return compiled(context, [r = tiled<Resize>(kernel)](const A& a) {
        resampleBackward<T>(a.context, r, resamplingOf(r), a.resampledAt(), a.at<T>(0), a.at<T>(1));
      });
    case KernelKind::adaptivePoolForward:
      return compiled(context, [r = tiled<Resampled>(kernel)](const A& a) {
        resampleForward<T>(a.context, r, Resampling::adaptive, a.resampledAt(), a.at<T>(0), a.at<T>(1));
      });
    case KernelKind::adaptivePoolBackward:
      return compiled(context, [r = tiled<Resampled>(kernel)](const A& a) {
        resampleBackward<T>(a.context, r, Resampling::adaptive, a.resampledAt(), a.at<T>(0), a.at<T>(1));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileResampling)

}  // namespace tilefold::cuda
