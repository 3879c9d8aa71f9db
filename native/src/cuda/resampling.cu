// Resizing and adaptive pooling (../resampling.hpp) of tiles, plain or nhwc. Semantics:
// reference/resampling.cpp; backward gathers.
#include <type_traits>

#include "../kernels/resampling.hpp"
#include "activation.cuh"
#include "compiled.hpp"
#include "families.hpp"
#include "reduction.cuh"
#include "resampled_axis.cuh"

namespace tilefold::cuda {
namespace {

// Windows of so many terms are summed by a block, not by a thread.
constexpr std::int64_t largeWindow = 256;

// Up to packWidth channels of a pixel are worked on at once, so that what the pixel is made of is
// found once for all of them: channels that lie side by side of nhwc, planes of any image of plain.
class Bundles {
 public:
  struct Bundle {
    // The first; of plain, planes of all images are counted as channels.
    std::int64_t image, channel;
    std::int64_t row, column;
    int width;
  };

  Bundles(const Resampled& r, std::int64_t height, std::int64_t width)
      : channelsLast_(r.layout == Layout::nhwc && r.channels > 1),
        channels_(channelsLast_ ? r.channels : r.batch * r.channels),
        count_((channelsLast_ ? r.batch : 1) * groups() * height * width),
        places_(channelsLast_ ? Layout::nhwc : Layout::plain, groups(), height, width) {}

  std::int64_t count() const { return count_; }

  __device__ Bundle operator()(std::int64_t item) const {
    const Place at = places_.place(item);
    const std::int64_t channel = at.channel * packWidth, left = channels_ - channel;
    return {at.image, channel, at.row, at.column, left < packWidth ? static_cast<int>(left) : packWidth};
  }

  // A bundle's first element in a tile of so many pixels; the pixels and the channels that follow.
  __device__ std::int64_t first(const Bundle& b, std::int64_t pixels) const {
    return channelsLast_ ? b.image * pixels * channels_ + b.channel : b.channel * pixels;
  }
  __device__ std::int64_t pixelStride() const { return channelsLast_ ? channels_ : 1; }
  __device__ std::int64_t channelStride(std::int64_t pixels) const { return channelsLast_ ? 1 : pixels; }

 private:
  std::int64_t groups() const { return (channels_ + packWidth - 1) / packWidth; }

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

struct Plane {
  std::int64_t height, width;
  __host__ __device__ std::int64_t pixels() const { return height * width; }
};

// Every result is the sum of its terms in `operand`; rowTerms and columnTerms give a coordinate's.
// What a row adds up to is of type Part.
template <bool packed, class Part, class RowTerms, class ColumnTerms, class T>
void gather(const Context& context, const char* name, const Bundles& bundles, const Plane& from, const Plane& to, const RowTerms& rowTerms,
            const ColumnTerms& columnTerms, const T* operand, T* result) {
  forEach(context, name, bundles.count(), [=] __device__(std::int64_t i) {
    const Bundles::Bundle b = bundles(i);
    const auto rows = rowTerms(b.row);
    const auto columns = columnTerms(b.column);
    const T* const first = operand + bundles.first(b, from.pixels());
    const std::int64_t pixelStride = bundles.pixelStride();
    double sums[packWidth] = {};
    for (std::int64_t y = rows.from; y < rows.to; ++y) {
      Part parts[packWidth] = {};
      for (std::int64_t x = columns.from; x < columns.to; ++x) {
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

// The terms of one output of an adaptive pool: columns and rows of the widest window, of which its
// own may have fewer.
template <class T>
struct WindowTerms {
  const T* first;
  std::int64_t rows, columns, rowStride, pixelStride;
  Divisor byColumns;

  __device__ double operator()(std::int64_t k) const {
    const Division place = byColumns(k);
    if (place.quotient >= rows || place.remainder >= columns) return 0;
    return static_cast<double>(first[place.quotient * rowStride + place.remainder * pixelStride]);
  }
};

template <int lanes, class T>
void meansOf(const Context& context, const Resampled& r, const AxisOfResampling<Resampling::adaptive>& rowAxis,
             const AxisOfResampling<Resampling::adaptive>& columnAxis, const T* source, T* destination) {
  const Activation in(r.layout, r.channels, r.inHeight, r.inWidth), out(r.layout, r.channels, r.outHeight, r.outWidth);
  const std::int64_t width = r.inWidth, maxColumns = columnAxis.maxInputs();
  const Divisor byColumns(maxColumns);
  forEachSum<lanes>(
      context, "adaptivePoolForward", r.batch * r.channels * r.outHeight * r.outWidth, rowAxis.maxInputs() * maxColumns,
      [=] __device__(std::int64_t output) {
        const Place at = out.place(output);
        const auto rows = rowAxis.template inputs<double>(at.row), columns = columnAxis.template inputs<double>(at.column);
        const std::int64_t pixelStride = in.pixelStride();
        return WindowTerms<T>{source + in.plane(at.image, at.channel) + (rows.from * width + columns.from) * pixelStride,
                              rows.to - rows.from,
                              columns.to - columns.from,
                              width * pixelStride,
                              pixelStride,
                              byColumns};
      },
      [=] __device__(std::int64_t output, double sum) {
        const Place at = out.place(output);
        const double share = rowAxis.template inputs<double>(at.row).first * columnAxis.template inputs<double>(at.column).first;
        destination[output] = static_cast<T>(share * sum);
      });
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
struct Inputs {
  AxisOfResampling<kind> axis;
  __device__ auto operator()(std::int64_t output) const { return axis.template inputs<PartOf<kind>>(output); }
};

template <Resampling kind>
struct Outputs {
  AxisOfResampling<kind> axis;
  __device__ auto operator()(std::int64_t input) const { return axis.template outputs<PartOf<kind>>(input); }
};

template <Resampling kind, template <Resampling> class Terms, class T>
void gatherAxes(const Context& context, const char* name, const Resampled& r, const ResampledAt& at, const Plane& from, const Plane& to,
                const T* operand, T* result) {
  const Terms<kind> rows{AxisOfResampling<kind>(rowsOf(r, kind, at))}, columns{AxisOfResampling<kind>(columnsOf(r, kind, at))};
  const Bundles bundles(r, to.height, to.width);
  if (r.layout == Layout::nhwc && r.channels % packWidth == 0 && aligned({operand, result}))
    gather<true, PartOf<kind>>(context, name, bundles, from, to, rows, columns, operand, result);
  else
    gather<false, PartOf<kind>>(context, name, bundles, from, to, rows, columns, operand, result);
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
  const ResampledAxis rows = rowsOf(r, kind, at), columns = columnsOf(r, kind, at);
  requireInputs(rows);
  requireInputs(columns);
  if (kind == Resampling::adaptive) {
    const AxisOfResampling<Resampling::adaptive> rowAxis(rows), columnAxis(columns);
    if (rowAxis.maxInputs() * columnAxis.maxInputs() >= largeWindow) {
      const auto means = r.layout == Layout::nhwc && r.channels > 1 ? meansOf<32, T> : meansOf<1, T>;
      return means(context, r, rowAxis, columnAxis, source, destination);
    }
  }
  const char* const name = kind == Resampling::adaptive ? "adaptivePoolForward" : "resizeForward";
  gatherBy<Inputs>(kind, context, name, r, at, {r.inHeight, r.inWidth}, {r.outHeight, r.outWidth}, source, destination);
}

template <class T>
void resampleBackward(const Context& context, const Resampled& r, Resampling kind, const ResampledAt& at, const T* destinationGradient,
                      T* sourceGradient) {
  const char* const name = kind == Resampling::adaptive ? "adaptivePoolBackward" : "resizeBackward";
  gatherBy<Outputs>(kind, context, name, r, at, {r.outHeight, r.outWidth}, {r.inHeight, r.inWidth}, destinationGradient, sourceGradient);
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
