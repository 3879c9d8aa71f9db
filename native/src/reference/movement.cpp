// Kernels that move elements between places and layouts.
#include <algorithm>
#include <cstring>
#include <vector>

#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// Where element (b, c, pixel) lies in an activation of any layout.
struct Position {
  Position(Layout layout, std::int64_t batch, std::int64_t channels, std::int64_t pixelCount)
      : planes(layout, batch, channels), pixels(pixelCount) {}
  std::int64_t operator()(std::int64_t b, std::int64_t c, std::int64_t pixel) const {
    return ((b * planes.blocks + c / planes.block) * pixels + pixel) * planes.block + c % planes.block;
  }
  Planes planes;
  std::int64_t pixels;
};

template <class T>
void reorderActivation(const ActivationReorder& r, const T* source, T* destination) {
  const std::int64_t pixels = r.height * r.width;
  const Position from(r.sourceLayout, r.batch, r.channels, pixels), to(r.destinationLayout, r.batch, r.channels, pixels);
  const std::int64_t block = to.planes.block;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < to.planes.count; ++plane) {
    const std::int64_t b = to.planes.image(plane), c = to.planes.firstChannel(plane);
    T* out = destination + plane * pixels * block;
    for (std::int64_t lane = 0; lane < block; ++lane) {
      if (lane >= to.planes.lanes(plane)) {
        for (std::int64_t pixel = 0; pixel < pixels; ++pixel) out[pixel * block + lane] = T(0);
        continue;
      }
      const T* in = source + from(b, c + lane, 0);
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) out[pixel * block + lane] = in[pixel * from.planes.block];
    }
  }
}

// Some channels of one dense tile to some of another. Where they are the last of a blocked one and
// not added, its padding is zeroed.
template <class T>
void copyChannels(const CopyChannels& c, const T* source, T* destination) {
  const std::int64_t pixels = c.height * c.width;
  const Position from(c.sourceLayout, c.batch, c.sourceChannels, pixels),
      to(c.destinationLayout, c.batch, c.destinationChannels, pixels);
  const bool pads = !c.add && c.destinationFirst + c.count == c.destinationChannels;
  const std::int64_t written = pads ? to.planes.blocks * to.planes.block - c.destinationFirst : c.count;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < c.batch; ++image)
    for (std::int64_t channel = 0; channel < written; ++channel)
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const T value = channel < c.count ? source[from(image, c.sourceFirst + channel, pixel)] : T(0);
        T& element = destination[to(image, c.destinationFirst + channel, pixel)];
        element = c.add ? element + value : value;
      }
}

// Between a fine and a coarse tile, either way; padding channels, and what the other tile does not
// hold, are zero.
template <class T>
void pixelShuffle(const PixelShuffle& p, const T* source, T* destination) {
  const std::int64_t factor = p.factor, coarseChannels = p.channels * factor * factor;
  const Position fine(p.inverse ? p.sourceLayout : p.destinationLayout, p.batch, p.channels, p.height * p.width),
      coarse(p.inverse ? p.destinationLayout : p.sourceLayout, p.batch, coarseChannels, p.coarseHeight * p.coarseWidth);
  const Position& written = p.inverse ? coarse : fine;
  const std::int64_t elements = written.planes.count * written.planes.block * written.pixels;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < elements; ++i) destination[i] = T(0);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < p.batch; ++image) {
    for (std::int64_t y = 0; y < p.height; ++y) {
      const std::int64_t row = (y + p.rowsBefore) / factor, r = (y + p.rowsBefore) % factor;
      if (row >= p.coarseHeight) continue;
      for (std::int64_t c = 0; c < p.channels; ++c)
        for (std::int64_t s = 0; s < factor; ++s) {
          // The first column that is s in its square: of the fine tile, and of the coarse one.
          const std::int64_t column = s < p.columnsBefore ? 1 : 0, x = column * factor + s - p.columnsBefore;
          const std::int64_t count = std::min(p.coarseWidth - column, x < p.width ? (p.width - x + factor - 1) / factor : 0);
          const std::int64_t ofFine = fine(image, c, y * p.width + x),
                             ofCoarse = coarse(image, (c * factor + r) * factor + s, row * p.coarseWidth + column);
          for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t here = ofFine + i * factor * fine.planes.block, there = ofCoarse + i * coarse.planes.block;
            if (p.inverse)
              destination[there] = source[here];
            else
              destination[here] = source[there];
          }
        }
    }
  }
}

// Padding channels are zero.
template <class T>
void channelShuffle(const ChannelGroups& s, const T* source, T* destination) {
  const std::int64_t pixels = s.height * s.width, groupChannels = s.channels / s.groups;
  const Position from(s.layout, s.batch, s.channels, pixels);
  const Planes& planes = from.planes;
  const std::int64_t block = planes.block;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    // The source of each lane; none of padding.
    std::vector<const T*> in(static_cast<std::size_t>(block));
    for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane) {
      const std::int64_t channel = planes.firstChannel(plane) + lane;
      in[static_cast<std::size_t>(lane)] = source + from(planes.image(plane), channel % s.groups * groupChannels + channel / s.groups, 0);
    }
    T* out = destination + plane * pixels * block;
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (const T* lane : in) *out++ = lane == nullptr ? T(0) : lane[pixel * block];
  }
}

// Channels that the source does not have, and padding, are zero.
template <class T>
void shiftChannels(const ShiftChannels& s, const T* source, T* destination) {
  const std::int64_t pixels = s.height * s.width;
  const Position from(s.sourceLayout, s.batch, s.sourceChannels, pixels), to(s.destinationLayout, s.batch, s.channels, pixels);
  const Planes& planes = to.planes;
#pragma omp parallel for schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    T* out = destination + plane * pixels * planes.block;
    for (std::int64_t lane = 0; lane < planes.block; ++lane) {
      const std::int64_t channel = planes.firstChannel(plane) + lane + s.offset;
      const bool isThere = lane < planes.lanes(plane) && channel >= 0 && channel < s.sourceChannels;
      const T* in = isThere ? source + from(planes.image(plane), channel, 0) : nullptr;
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
        out[pixel * planes.block + lane] = isThere ? in[pixel * from.planes.block] : T(0);
    }
  }
}

// A box of rows; adds where the fields say so.
template <class T>
void copyBox(const CopyBox& box, const T* source, T* destination) {
  const auto& n = box.n;
  const std::int64_t summands = sums(box) ? n[0] : 1;
#pragma omp parallel for collapse(3) schedule(static)
  for (std::int64_t i = 0; i < n[0] / summands; ++i) {
    for (std::int64_t j = 0; j < n[1]; ++j) {
      for (std::int64_t k = 0; k < n[2]; ++k) {
        const T* from = source + i * box.sourceStride[0] + j * box.sourceStride[1] + k * box.sourceStride[2];
        T* to = destination + i * box.destinationStride[0] + j * box.destinationStride[1] + k * box.destinationStride[2];
        for (std::int64_t x = 0; x < n[3]; ++x) {
          if (!box.add) {
            to[x] = from[x];
            continue;
          }
          // Of bf16 the sum is float32, and rounded once.
          ParameterOf<T> sum = to[x];
          for (std::int64_t summand = 0; summand < summands; ++summand) sum += from[summand * box.sourceStride[0] + x];
          to[x] = static_cast<T>(sum);
        }
      }
    }
  }
}

// A tile of a plain strided tensor to a dense tile, channel padding zeroed; and back, added.
template <class T>
void packTile(const StridedTile& t, const ParameterOf<T>* source, T* destination) {
  const Planes planes = planesOf(t);
  const std::int64_t block = planes.block;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    for (std::int64_t y = 0; y < t.height; ++y) {
      const ParameterOf<T>* from =
          source + planes.image(plane) * t.strideBatch + planes.firstChannel(plane) * t.strideChannel + y * t.strideHeight;
      T* to = destination + (plane * t.height + y) * t.width * block;
      for (std::int64_t lane = 0; lane < block; ++lane)
        for (std::int64_t x = 0; x < t.width; ++x)
          to[x * block + lane] = static_cast<T>(lane < planes.lanes(plane) ? from[lane * t.strideChannel + x] : ParameterOf<T>(0));
    }
  }
}

template <class T>
void unpackAddTile(const StridedTile& t, const T* source, ParameterOf<T>* destination) {
  const Planes planes = planesOf(t);
  const std::int64_t block = planes.block;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t plane = 0; plane < planes.count; ++plane) {
    for (std::int64_t y = 0; y < t.height; ++y) {
      const T* from = source + (plane * t.height + y) * t.width * block;
      ParameterOf<T>* to =
          destination + planes.image(plane) * t.strideBatch + planes.firstChannel(plane) * t.strideChannel + y * t.strideHeight;
      for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane)
        for (std::int64_t x = 0; x < t.width; ++x) to[lane * t.strideChannel + x] += from[x * block + lane];
    }
  }
}

// Weights as products read them: parameters rounded to what activations are stored as.
template <class T>
void castWeights(std::int64_t count, const ParameterOf<T>* source, T* destination) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) destination[i] = static_cast<T>(source[i]);
}

std::int64_t plainWeights(const Kernel& kernel) {
  const auto r = decode<WeightReorder>(kernel);
  if (r.sourceLayout != Layout::plain || r.destinationLayout != Layout::plain)
    throw Failure("the reference device keeps weights in the plain layout only");
  return weightElements(Layout::plain, r.outChannels, r.inChannels / r.groups, r.kernelHeight, r.kernelWidth, r.groups);
}

template <class P>
void sliceWeights(const WeightSlice& s, const P* source, P* destination) {
  const std::int64_t taps = s.kernelHeight * s.kernelWidth, row = s.inChannels * taps;
  for (std::int64_t out = 0; out < s.outChannels; ++out)
    std::copy_n(source + ((s.firstOut + out) * s.sourceInChannels + s.firstIn) * taps, row, destination + out * row);
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileMovement(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::reorderWeights:
      return compiled([count = plainWeights(kernel)](const A& a) {
        std::memmove(a.at<P>(1), a.at<P>(0), static_cast<std::size_t>(count) * sizeof(P));
      });
    case KernelKind::sliceWeights:
      plainWeights(kernel);
      return compiled([s = decode<WeightSlice>(kernel)](const A& a) { sliceWeights(s, a.at<P>(0), a.at<P>(1)); });
    case KernelKind::reorderActivation:
      return compiled([r = decode<ActivationReorder>(kernel)](const A& a) { reorderActivation<T>(r, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::copyChannels:
      return compiled([c = decode<CopyChannels>(kernel)](const A& a) { copyChannels<T>(c, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::pixelShuffle:
      return compiled([p = decode<PixelShuffle>(kernel)](const A& a) { pixelShuffle<T>(p, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::channelShuffle:
      return compiled([s = decode<ChannelGroups>(kernel)](const A& a) { channelShuffle<T>(s, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::shiftChannels:
      return compiled([s = decode<ShiftChannels>(kernel)](const A& a) { shiftChannels<T>(s, a.at<T>(0), a.at<T>(1)); });
    case KernelKind::copyBox: {
      const auto b = decode<CopyBox>(kernel);
      if (b.ofParameters) return compiled([b](const A& a) { copyBox<P>(b, a.at<P>(0), a.at<P>(1)); });
      return compiled([b](const A& a) { copyBox<T>(b, a.at<T>(0), a.at<T>(1)); });
    }
    case KernelKind::packTile:
      return compiled([t = decode<StridedTile>(kernel)](const A& a) { packTile<T>(t, a.at<P>(0), a.at<T>(1)); });
    case KernelKind::unpackAddTile:
      return compiled([t = decode<StridedTile>(kernel)](const A& a) { unpackAddTile<T>(t, a.at<T>(0), a.at<P>(1)); });
    case KernelKind::zero:
      return compiled([z = decode<Zero>(kernel)](const A& a) { std::fill_n(a.at<std::byte>(0), z.bytes, std::byte{0}); });
    case KernelKind::castWeights:
      return compiled([count = plainWeights(kernel)](const A& a) { castWeights<T>(count, a.at<P>(0), a.at<T>(1)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileMovement)

}  // namespace tilefold::reference
