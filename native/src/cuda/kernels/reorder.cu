// Between layouts, between dense tiles and plain strided tensors, and between channels of tiles.
// Semantics: reference/movement.cpp.
#include <utility>

#include "compiled.hpp"
#include "copy_rows.hpp"
#include "divisor.cuh"
#include "element_loop.cuh"
#include "families.hpp"

namespace tilefold::cuda {
namespace {

constexpr int side = 32, sideRows = blockThreads / side;

// Matrices [rows][columns] to be transposed to [columns][rows]; the last index is contiguous,
// distances are in elements.
struct Matrices {
  std::int64_t counts[2], sourceStride[2], destinationStride[2];
  std::int64_t rows, columns, sourceRow, destinationRow;
  bool add;

  std::int64_t rowTiles() const { return (rows + side - 1) / side; }
  std::int64_t columnTiles() const { return (columns + side - 1) / side; }
  std::int64_t tiles() const { return counts[0] * counts[1] * rowTiles() * columnTiles(); }
};

// By tiles through shared memory, so that both sides are read and written along their rows
// (Ruetsch, Micikevicius 2009).
template <class From, class To>
__global__ void __launch_bounds__(blockThreads) transposeTiles(Matrices m, std::int64_t tiles, Divisor byColumnTiles, Divisor byRowTiles,
                                                               Divisor byCount, const From* source, To* destination) {
  __shared__ float tile[side][side + 1];
  const int x = static_cast<int>(threadIdx.x) % side, y = static_cast<int>(threadIdx.x) / side;
  for (std::int64_t i = blockIdx.x; i < tiles; i += gridDim.x) {
    const Division column = byColumnTiles(i), row = byRowTiles(column.quotient), matrix = byCount(row.quotient);
    const std::int64_t firstRow = row.remainder * side, firstColumn = column.remainder * side;
    const From* from = source + matrix.quotient * m.sourceStride[0] + matrix.remainder * m.sourceStride[1];
    To* to = destination + matrix.quotient * m.destinationStride[0] + matrix.remainder * m.destinationStride[1];
#pragma unroll
    for (int k = y; k < side; k += sideRows)
      if (firstRow + k < m.rows && firstColumn + x < m.columns) tile[k][x] = from[(firstRow + k) * m.sourceRow + firstColumn + x];
    __syncthreads();
#pragma unroll
    for (int k = y; k < side; k += sideRows) {
      if (firstColumn + k >= m.columns || firstRow + x >= m.rows) continue;
      To& element = to[(firstColumn + k) * m.destinationRow + firstRow + x];
      element = static_cast<To>(m.add ? element + tile[x][k] : tile[x][k]);
    }
    __syncthreads();
  }
}

template <class From, class To>
void transpose(const Context& context, const char* name, const Matrices& m, const From* source, To* destination) {
  const std::int64_t tiles = m.tiles();
  launchKernel(context, name, transposeTiles<From, To>, std::min(tiles, context.multiprocessors * blocksPerMultiprocessor), blockThreads, m,
               tiles, Divisor(m.columnTiles()), Divisor(m.rowTiles()), Divisor(m.counts[1]), source, destination);
}

// Without channels to tell apart, nhwc is plain.
bool channelsLast(Layout layout, std::int64_t channels) { return layout == Layout::nhwc && channels > 1; }
bool channelsLast(const Tile& t) { return channelsLast(t.layout, t.channels); }
bool channelsLast(const ChannelRange& range) { return channelsLast(range.layout, range.channels); }

// Channels of one row of a tile as a matrix of the strided tensor; of all its rows where those
// follow each other.
Matrices matricesOf(const StridedTile& t) {
  const bool whole = t.strideHeight == t.width;
  const std::int64_t row = t.width * t.channels;
  return {{t.batch, whole ? 1 : t.height},
          {t.strideBatch, t.strideHeight},
          {t.height * row, row},
          t.channels,
          whole ? t.height * t.width : t.width,
          t.strideChannel,
          t.channels,
          false};
}

// The way back.
Matrices reversed(const Matrices& m) {
  return {{m.counts[0], m.counts[1]},
          {m.destinationStride[0], m.destinationStride[1]},
          {m.sourceStride[0], m.sourceStride[1]},
          m.columns,
          m.rows,
          m.destinationRow,
          m.sourceRow,
          m.add};
}

// Between plain and nhwc.
template <class T>
void reorderActivation(const Context& context, const ActivationReorder& r, const T* source, T* destination) {
  const std::int64_t pixels = r.height * r.width, image = r.channels * pixels;
  if (r.sourceLayout == r.destinationLayout)
    return copyRows(context, "reorderActivation", {{1, 1, 1, r.batch * image}, {}, {}, false}, source, destination);
  const Matrices toLast{{r.batch, 1}, {image, 0}, {image, 0}, r.channels, pixels, pixels, r.channels, false};
  transpose(context, "reorderActivation", r.destinationLayout == Layout::nhwc ? toLast : reversed(toLast), source, destination);
}

std::int64_t weightCount(const WeightReorder& r) { return r.outChannels * (r.inChannels / r.groups) * r.kernelHeight * r.kernelWidth; }

// From plain (oihw) to ohwi, or back.
template <class T>
void transposeAxes(const Context& context, const char* name, const WeightReorder& r, const float* source, T* destination) {
  const std::int64_t taps = r.kernelHeight * r.kernelWidth, in = r.inChannels / r.groups;
  const bool toLast = r.destinationLayout == Layout::ohwi;
  const std::int64_t inner = toLast ? in : taps, middle = toLast ? taps : in;
  const Divisor byInner(inner), byMiddle(middle);
  forEach(context, name, weightCount(r), [=] __device__(std::int64_t i) {
    const Division column = byInner(i), row = byMiddle(column.quotient);
    destination[i] = T(source[(row.quotient * inner + column.remainder) * middle + row.remainder]);
  });
}

void reorderWeights(const Context& context, const WeightReorder& r, const float* source, float* destination) {
  if (r.sourceLayout == r.destinationLayout)
    return copyRows(context, "reorderWeights", {{1, 1, 1, weightCount(r)}, {}, {}, false}, source, destination);
  transposeAxes(context, "reorderWeights", r, source, destination);
}

void sliceWeights(const Context& context, const WeightSlice& s, const float* source, float* destination) {
  const std::int64_t taps = s.kernelHeight * s.kernelWidth;
  copyRows(context, "sliceWeights",
           {{1, 1, s.outChannels, s.inChannels * taps}, {0, 0, s.sourceInChannels * taps}, {0, 0, s.inChannels * taps}, false},
           source + (s.firstOut * s.sourceInChannels + s.firstIn) * taps, destination);
}

// Weights as products read them.
template <class T>
void castWeights(const Context& context, const WeightReorder& r, const float* source, T* destination) {
  if (r.sourceLayout != r.destinationLayout) return transposeAxes(context, "castWeights", r, source, destination);
  forEachPack(context, "castWeights", weightCount(r), {source, destination}, [=] __device__(auto values, std::int64_t i) {
    values.load(source + i);
    values.store(destination + i);
  });
}

// A tile of a plain strided tensor to a dense tile, plain or nhwc; and back, added.
template <class T>
void packTile(const Context& context, const StridedTile& t, const float* source, T* destination) {
  if (channelsLast(t)) return transpose(context, "packTile", matricesOf(t), source, destination);
  const std::int64_t plane = t.height * t.width;
  copyRows(context, "packTile",
           {{t.batch, t.channels, t.height, t.width},
            {t.strideBatch, t.strideChannel, t.strideHeight},
            {t.channels * plane, plane, t.width},
            false},
           source, destination);
}

template <class T>
void unpackAddTile(const Context& context, const StridedTile& t, const T* source, float* destination) {
  if (channelsLast(t)) {
    Matrices back = reversed(matricesOf(t));
    back.add = true;
    return transpose(context, "unpackAddTile", back, source, destination);
  }
  const std::int64_t plane = t.height * t.width;
  copyRows(context, "unpackAddTile",
           {{t.batch, t.channels, t.height, t.width},
            {t.channels * plane, plane, t.width},
            {t.strideBatch, t.strideChannel, t.strideHeight},
            true},
           source, destination);
}

// Some channels of every pixel; either side plain or nhwc.
template <class T>
void copyChannels(const Context& context, const CopyChannels& c, const T* source, T* destination) {
  const std::int64_t pixels = c.height * c.width, fromImage = c.sourceChannels * pixels, toImage = c.destinationChannels * pixels;
  const bool fromLast = channelsLast(sourceRange(c)), toLast = channelsLast(destinationRange(c));
  const T* from = source + c.sourceFirst * (fromLast ? 1 : pixels);
  T* to = destination + c.destinationFirst * (toLast ? 1 : pixels);
  if (fromLast && toLast)
    return copyRows(context, "copyChannels",
                    {{1, 1, c.batch * pixels, c.count}, {0, 0, c.sourceChannels}, {0, 0, c.destinationChannels}, c.add}, from, to);
  if (!fromLast && !toLast)
    return copyRows(context, "copyChannels", {{1, 1, c.batch, c.count * pixels}, {0, 0, fromImage}, {0, 0, toImage}, c.add}, from, to);
  const Matrices matrices =
      toLast ? Matrices{{c.batch, 1}, {fromImage, 0}, {toImage, 0}, c.count, pixels, pixels, c.destinationChannels, c.add}
             : Matrices{{c.batch, 1}, {fromImage, 0}, {toImage, 0}, pixels, c.count, c.sourceChannels, pixels, c.add};
  transpose(context, "copyChannels", matrices, from, to);
}

void requireWeights(Layout layout) {
  if (layout != Layout::plain && layout != Layout::ohwi)
    throw Failure(std::string("the cuda device keeps weights plain or ohwi, not ") + layoutInfo(layout).name);
}

WeightReorder weightReorder(const Kernel& kernel) {
  const auto r = decode<WeightReorder>(kernel);
  requireWeights(r.sourceLayout);
  requireWeights(r.destinationLayout);
  return r;
}

WeightSlice weightSlice(const Kernel& kernel) {
  const auto s = decode<WeightSlice>(kernel);
  for (const Layout layout : {s.sourceLayout, s.destinationLayout})
    if (layout != Layout::plain) throw Failure(std::string("the cuda device slices plain weights, not ") + layoutInfo(layout).name);
  return s;
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileReorder(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::reorderWeights:
      return compiled(context, [r = weightReorder(kernel)](const A& a) { reorderWeights(a.context, r, a.at(0), a.at(1)); });
    case KernelKind::sliceWeights:
      return compiled(context, [s = weightSlice(kernel)](const A& a) { sliceWeights(a.context, s, a.at(0), a.at(1)); });
    case KernelKind::reorderActivation:
      return compiled(context, [r = betweenTiles<ActivationReorder>(kernel)](const A& a) {
        reorderActivation<T>(a.context, r, a.at<T>(0), a.at<T>(1));
      });
    case KernelKind::castWeights:
      return compiled(context, [r = weightReorder(kernel)](const A& a) { castWeights<T>(a.context, r, a.at(0), a.at<T>(1)); });
    case KernelKind::packTile:
      return compiled(context, [t = tiled<StridedTile>(kernel)](const A& a) { packTile<T>(a.context, t, a.at(0), a.at<T>(1)); });
    case KernelKind::unpackAddTile:
      return compiled(context, [t = tiled<StridedTile>(kernel)](const A& a) { unpackAddTile<T>(a.context, t, a.at<T>(0), a.at(1)); });
    case KernelKind::copyChannels:
      return compiled(context,
                      [c = betweenTiles<CopyChannels>(kernel)](const A& a) { copyChannels<T>(a.context, c, a.at<T>(0), a.at<T>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileReorder)

}  // namespace tilefold::cuda
