#include "../kernels/grid.cuh"
#include "../kernels/launch.cuh"
#include "pad.hpp"

namespace tilefold::cuda {
namespace {

constexpr const char* name = "copying a padded activation";

// Rows of `width` elements each, and the planes that so many of them make.
struct PaddedRows {
  std::uint32_t height, width;
};

// Row y, column x of a destination's plane is row y - top, column x - left of the source's, zero
// outside.
template <class Vector>
__global__ void shift(const Vector* source, Vector* destination, PaddedRows from, PaddedRows to, std::int32_t top, std::int32_t left,
                      std::uint32_t count) {
  for (std::uint64_t i = firstIndex(); i < count; i += indexStep()) {
    const auto index = static_cast<std::uint32_t>(i);
    const std::uint32_t row = index / to.width, plane = row / to.height;
    // A negative coordinate is a huge one without its sign.
    const std::uint32_t y = row - plane * to.height - static_cast<std::uint32_t>(top);
    const std::uint32_t x = index - row * to.width - static_cast<std::uint32_t>(left);
    Vector value{};
    if (y < from.height && x < from.width) value = source[(std::size_t{plane} * from.height + y) * from.width + x];
    destination[index] = value;
  }
}

// Elements from a channel to the next and from a pixel to the next.
struct Strides {
  std::uint32_t channel, pixel;
};

// The same from one layout to another, all channels of a pixel at once: threads of a warp share the
// lines that they write.
template <class T>
__global__ void shiftPixels(const T* source, T* destination, PaddedRows from, PaddedRows to, Strides fromStrides, Strides toStrides,
                            std::uint32_t channels, std::int32_t top, std::int32_t left, std::uint32_t count) {
  for (std::uint64_t i = firstIndex(); i < count; i += indexStep()) {
    const auto index = static_cast<std::uint32_t>(i);
    const std::uint32_t row = index / to.width, image = row / to.height;
    const std::uint32_t y = row - image * to.height - static_cast<std::uint32_t>(top);
    const std::uint32_t x = index - row * to.width - static_cast<std::uint32_t>(left);
    const bool inside = y < from.height && x < from.width;
    const T* pixel =
        source + std::size_t{image} * channels * from.height * from.width + std::size_t{y * from.width + x} * fromStrides.pixel;
    T* result = destination + std::size_t{image} * channels * to.height * to.width +
                std::size_t{index - image * to.height * to.width} * toStrides.pixel;
    for (std::uint32_t c = 0; c < channels; ++c)
      result[std::size_t{c} * toStrides.channel] = inside ? pixel[std::size_t{c} * fromStrides.channel] : T{};
  }
}

struct Side {
  Layout layout;
  std::int64_t height, width;
};

Strides stridesOf(const Side& side, std::int64_t channels) {
  if (side.layout == Layout::nhwc) return {1, static_cast<std::uint32_t>(channels)};
  return {static_cast<std::uint32_t>(side.height * side.width), 1};
}

PaddedRows rowsOf(const Side& side, std::int64_t width) { return {static_cast<std::uint32_t>(side.height), static_cast<std::uint32_t>(width)}; }

template <class Vector, class T>
void launchShift(cudaStream_t stream, const Side& from, const Side& to, std::int64_t planes, std::int64_t perColumn, std::int64_t top,
                 std::int64_t left, const T* source, T* destination) {
  constexpr std::int64_t lanes = sizeof(Vector) / sizeof(T);
  const std::int64_t count = planes * to.height * (to.width * perColumn / lanes);
  launchGrid(stream, name, shift<Vector>, blocksFor(count), threads, reinterpret_cast<const Vector*>(source),
             reinterpret_cast<Vector*>(destination), rowsOf(from, from.width * perColumn / lanes), rowsOf(to, to.width * perColumn / lanes),
             static_cast<std::int32_t>(top), static_cast<std::int32_t>(left * perColumn / lanes), static_cast<std::uint32_t>(count));
}

template <class T>
void move(cudaStream_t stream, const PadBox& box, const Side& from, const Side& to, std::int64_t top, std::int64_t left, const T* source,
          T* destination) {
  if (from.layout != to.layout) {
    const std::int64_t count = box.batch * to.height * to.width;
    launchGrid(stream, name, shiftPixels<T>, blocksFor(count), threads, source, destination, rowsOf(from, from.width), rowsOf(to, to.width),
               stridesOf(from, box.channels), stridesOf(to, box.channels), static_cast<std::uint32_t>(box.channels),
               static_cast<std::int32_t>(top), static_cast<std::int32_t>(left), static_cast<std::uint32_t>(count));
  } else {
    const bool innermost = from.layout == Layout::nhwc;
    const std::int64_t planes = innermost ? box.batch : box.batch * box.channels, perColumn = innermost ? box.channels : 1;
    const auto whole = [perColumn](std::int64_t columns) { return columns * perColumn % std::int64_t{sizeof(uint4) / sizeof(T)} == 0; };
    const bool wide = whole(from.width) && whole(to.width) && whole(left) && aligned(source) && aligned(destination);
    const auto launch = wide ? launchShift<uint4, T> : launchShift<T, T>;
    launch(stream, from, to, planes, perColumn, top, left, source, destination);
  }
}

}  // namespace

template <class T>
void padBox(cudaStream_t stream, const PadBox& box, const T* source, T* destination) {
  move(stream, box, {box.layout, box.height, box.width}, {box.paddedLayout, box.paddedHeight, box.paddedWidth}, box.top, box.left, source,
       destination);
}

template <class T>
void cropBox(cudaStream_t stream, const PadBox& box, const T* source, T* destination) {
  move(stream, box, {box.paddedLayout, box.paddedHeight, box.paddedWidth}, {box.layout, box.height, box.width}, -box.top, -box.left, source,
       destination);
}

#define TILEFOLD_INSTANTIATE(T)                                       \
  template void padBox<T>(cudaStream_t, const PadBox&, const T*, T*); \
  template void cropBox<T>(cudaStream_t, const PadBox&, const T*, T*);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cuda
