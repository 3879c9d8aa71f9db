// Convolution by its definition: plain layouts, any window, sums in double.
#include <algorithm>

#include "../kernels/rectifier.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

constexpr std::int64_t chunkColumns = 256;  // columns whose sums are held at once

// Outputs of one axis whose window element `k` lies inside the input: [from, to).
struct Range {
  std::int64_t from, to, offset;  // input coordinate of output o: o * stride + offset
};

Range inside(std::int64_t k, std::int64_t dilation, std::int64_t stride, std::int64_t padBefore, std::int64_t in, std::int64_t out) {
  const std::int64_t offset = k * dilation - padBefore;
  const std::int64_t from = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const std::int64_t to = offset >= in ? 0 : (in - 1 - offset) / stride + 1;
  return {from, std::min(to, out), offset};
}

Range rowsOf(const Convolution& c, std::int64_t ky) {
  return inside(ky, c.dilationHeight, c.strideHeight, c.padTop, c.inHeight, c.outHeight);
}

Range columnsOf(const Convolution& c, std::int64_t kx) {
  return inside(kx, c.dilationWidth, c.strideWidth, c.padLeft, c.inWidth, c.outWidth);
}

// Offsets of planes: channel i of group g of image b, and so on.
struct Geometry {
  explicit Geometry(const Convolution& c)
      : in(c.inChannels / c.groups),
        out(c.outChannels / c.groups),
        inPlane(c.inHeight * c.inWidth),
        outPlane(c.outHeight * c.outWidth),
        taps(c.kernelHeight * c.kernelWidth) {}
  std::int64_t in, out, inPlane, outPlane, taps;
};

// Throws Failure unless every layout is plain.
Convolution plainConvolution(const Kernel& kernel) {
  const auto c = decode<Convolution>(kernel);
  if (c.algorithm != 0) throw Failure("the reference device convolves directly only, not by algorithm " + std::to_string(c.algorithm));
  for (const Layout layout : {c.sourceLayout, c.destinationLayout, c.weightLayout})
    if (layout != Layout::plain)
      throw Failure(std::string("the reference device convolves plain layouts only, not ") + layoutInfo(layout).name);
  return c;
}

// destination[b, o, y, x] = bias[o] + sum over the window of weights[o, i, ky, kx] source[b, i,
// ...], times c.slope where negative. `bias` may be null.
template <class T>
void convolutionForward(const Convolution& c, const T* source, const T* weights, const ParameterOf<T>* bias, T* destination) {
  const Geometry g(c);
  const auto slope = static_cast<ParameterOf<T>>(c.slope);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t o = 0; o < c.outChannels; ++o) {
      const T* sourceGroup = source + (b * c.inChannels + o / g.out * g.in) * g.inPlane;
      const T* matrix = weights + o * g.in * g.taps;
      T* plane = destination + (b * c.outChannels + o) * g.outPlane;
      for (std::int64_t y = 0; y < c.outHeight; ++y) {
        for (std::int64_t first = 0; first < c.outWidth; first += chunkColumns) {
          const std::int64_t last = std::min(first + chunkColumns, c.outWidth);
          double sums[chunkColumns];
          std::fill(sums, sums + (last - first), bias == nullptr ? 0.0 : static_cast<double>(bias[o]));
          for (std::int64_t i = 0; i < g.in; ++i) {
            for (std::int64_t ky = 0; ky < c.kernelHeight; ++ky) {
              const std::int64_t row = y * c.strideHeight + ky * c.dilationHeight - c.padTop;
              if (row < 0 || row >= c.inHeight) continue;
              const T* line = sourceGroup + i * g.inPlane + row * c.inWidth;
              for (std::int64_t kx = 0; kx < c.kernelWidth; ++kx) {
                const Range columns = columnsOf(c, kx);
                const double weight = matrix[i * g.taps + ky * c.kernelWidth + kx];
                const std::int64_t to = std::min(columns.to, last);
                for (std::int64_t x = std::max(columns.from, first); x < to; ++x)
                  sums[x - first] += weight * static_cast<double>(line[x * c.strideWidth + columns.offset]);
              }
            }
          }
          for (std::int64_t x = first; x < last; ++x) {
            plane[y * c.outWidth + x] = rectified(static_cast<ParameterOf<T>>(sums[x - first]), slope);
          }
        }
      }
    }
  }
}

template <class T>
void convolutionBackwardData(const Convolution& c, const T* destinationGradient, const T* weights, T* sourceGradient) {
  const Geometry g(c);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t channel = 0; channel < c.inChannels; ++channel) {
      const std::int64_t group = channel / g.in, i = channel % g.in;
      T* plane = sourceGradient + (b * c.inChannels + channel) * g.inPlane;
      for (std::int64_t row = 0; row < c.inHeight; ++row) {
        for (std::int64_t first = 0; first < c.inWidth; first += chunkColumns) {
          const std::int64_t last = std::min(first + chunkColumns, c.inWidth);
          double sums[chunkColumns] = {};
          for (std::int64_t ky = 0; ky < c.kernelHeight; ++ky) {
            const std::int64_t above = row + c.padTop - ky * c.dilationHeight;
            if (above < 0 || above % c.strideHeight != 0 || above / c.strideHeight >= c.outHeight) continue;
            const std::int64_t y = above / c.strideHeight;
            for (std::int64_t kx = 0; kx < c.kernelWidth; ++kx) {
              // Outputs x with first <= x * stride + offset < last.
              const Range columns = columnsOf(c, kx);
              const std::int64_t low = first - columns.offset, high = last - 1 - columns.offset;
              const std::int64_t from = std::max(columns.from, low > 0 ? (low + c.strideWidth - 1) / c.strideWidth : 0);
              const std::int64_t to = high < 0 ? 0 : std::min(columns.to, high / c.strideWidth + 1);
              for (std::int64_t o = group * g.out; o < (group + 1) * g.out; ++o) {
                const double weight = weights[(o * g.in + i) * g.taps + ky * c.kernelWidth + kx];
                const T* line = destinationGradient + (b * c.outChannels + o) * g.outPlane + y * c.outWidth;
                for (std::int64_t x = from; x < to; ++x)
                  sums[x * c.strideWidth + columns.offset - first] += weight * static_cast<double>(line[x]);
              }
            }
          }
          for (std::int64_t x = first; x < last; ++x) plane[row * c.inWidth + x] = static_cast<T>(sums[x - first]);
        }
      }
    }
  }
}

// `biasGradient` may be null.
template <class T>
void convolutionBackwardWeights(const Convolution& c, const T* source, const T* destinationGradient, ParameterOf<T>* weightGradient,
                                ParameterOf<T>* biasGradient) {
  const Geometry g(c);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t o = 0; o < c.outChannels; ++o) {
    for (std::int64_t i = 0; i < g.in; ++i) {
      const std::int64_t channel = o / g.out * g.in + i;
      for (std::int64_t ky = 0; ky < c.kernelHeight; ++ky) {
        const Range rows = rowsOf(c, ky);
        for (std::int64_t kx = 0; kx < c.kernelWidth; ++kx) {
          const Range columns = columnsOf(c, kx);
          double sum = 0;
          for (std::int64_t b = 0; b < c.batch; ++b) {
            for (std::int64_t y = rows.from; y < rows.to; ++y) {
              const T* line = source + (b * c.inChannels + channel) * g.inPlane + (y * c.strideHeight + rows.offset) * c.inWidth;
              const T* gradient = destinationGradient + (b * c.outChannels + o) * g.outPlane + y * c.outWidth;
#pragma omp simd reduction(+ : sum)
              for (std::int64_t x = columns.from; x < columns.to; ++x)
                sum += static_cast<double>(gradient[x]) * static_cast<double>(line[x * c.strideWidth + columns.offset]);
            }
          }
          weightGradient[(o * g.in + i) * g.taps + ky * c.kernelWidth + kx] = static_cast<ParameterOf<T>>(sum);
        }
      }
    }
  }
  if (biasGradient == nullptr) return;
#pragma omp parallel for schedule(static)
  for (std::int64_t o = 0; o < c.outChannels; ++o) {
    double sum = 0;
    for (std::int64_t b = 0; b < c.batch; ++b) {
      const T* plane = destinationGradient + (b * c.outChannels + o) * g.outPlane;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t x = 0; x < g.outPlane; ++x) sum += static_cast<double>(plane[x]);
    }
    biasGradient[o] = static_cast<ParameterOf<T>>(sum);
  }
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileConvolution(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::convolutionForward:
      return compiled(
          [c = plainConvolution(kernel)](const A& a) { convolutionForward<T>(c, a.at<T>(0), a.at<T>(1), a.at<P>(2), a.at<T>(3)); });
    case KernelKind::convolutionBackwardData:
      return compiled([c = plainConvolution(kernel)](const A& a) { convolutionBackwardData<T>(c, a.at<T>(0), a.at<T>(1), a.at<T>(2)); });
    case KernelKind::convolutionBackwardWeights:
      return compiled(
          [c = plainConvolution(kernel)](const A& a) { convolutionBackwardWeights<T>(c, a.at<T>(0), a.at<T>(1), a.at<P>(2), a.at<P>(3)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileConvolution)

}  // namespace tilefold::reference
