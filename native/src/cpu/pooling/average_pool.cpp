#include "average_pool.hpp"

#include "../../kernels/average_window.hpp"
#include "../vectors/lane_loops.hpp"
#include "gather.hpp"

namespace tilefold::cpu {
namespace {

AxisTerms ofOutputs(const AverageAxis& axis) {
  AxisTerms terms;
  for (std::int64_t o = 0; o < axis.out; ++o) {
    const AverageWindow window = axis.window(o);
    terms.append(window.from, window.to, [&](std::int64_t) { return window.share(); });
  }
  return terms;
}

// An input is in the windows of outputs that follow each other.
AxisTerms ofInputs(const AverageAxis& axis) {
  AxisTerms terms;
  for (std::int64_t i = 0; i < axis.in; ++i) {
    const std::int64_t padded = i + axis.padBefore;
    const std::int64_t first = std::max<std::int64_t>(0, (padded - axis.kernel + axis.stride) / axis.stride);
    const std::int64_t end = std::max(first, std::min(axis.out, padded / axis.stride + 1));
    terms.append(first, end, [&](std::int64_t o) { return axis.window(o).share(); });
  }
  return terms;
}

AxisTerms ofOnePixel(std::int64_t results) {
  AxisTerms terms;
  for (std::int64_t i = 0; i < results; ++i) terms.append(0, 1, [](std::int64_t) { return 1.0; });
  return terms;
}

}  // namespace

template <class T>
Launch averagePoolForward(const AveragePool& p) {
  const reference::Planes planes(p.layout, p.batch, p.inChannels);
  return [=, rows = ofOutputs(averageRows(p)), columns = ofOutputs(averageColumns(p))](const std::vector<Operand>& operands,
                                                                                     const StepParameters&) {
    gather(planes, rows, columns, {p.inHeight, p.inWidth}, {p.outHeight, p.outWidth}, elements<const T>(operands, 0), elements<T>(operands, 1));
  };
}

template <class T>
Launch averagePoolBackward(const AveragePool& p) {
  const reference::Planes planes(p.layout, p.batch, p.inChannels);
  return [=, rows = ofInputs(averageRows(p)), columns = ofInputs(averageColumns(p))](const std::vector<Operand>& operands,
                                                                                   const StepParameters&) {
    gather(planes, rows, columns, {p.outHeight, p.outWidth}, {p.inHeight, p.inWidth}, elements<const T>(operands, 0), elements<T>(operands, 1));
  };
}

// sum[b, c] += scale * sum of the tile's pixels.
template <class T>
Launch globalAveragePoolForward(const GlobalAveragePool& p) {
  const reference::Planes planes(p.layout, p.batch, p.channels);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const std::int64_t pixels = p.height * p.width;
    parallelFor(planes.count, [&](std::int64_t plane) {
      std::vector<double> lanes(static_cast<std::size_t>(planes.block));
      addPixels(elements<const T>(operands, 0) + plane * pixels * planes.block, lanes.data(), pixels, planes.block);
      float* sum = elements<float>(operands, 1) + planes.image(plane) * p.channels + planes.firstChannel(plane);
      for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane)
        sum[lane] = static_cast<float>(static_cast<double>(sum[lane]) + p.scale * lanes[static_cast<std::size_t>(lane)]);
    });
  };
}

// Planes of one pixel, whose channels come without padding, as wide as the tile.
template <class T>
Launch globalAveragePoolBackward(const GlobalAveragePool& p) {
  const reference::Planes planes(p.layout, p.batch, p.channels);
  return [=, rows = ofOnePixel(p.height), columns = ofOnePixel(p.width)](const std::vector<Operand>& operands, const StepParameters&) {
    std::vector<T> pixels(static_cast<std::size_t>(planes.count * planes.block));
    for (std::int64_t plane = 0; plane < planes.count; ++plane) {
      const T* received = elements<const T>(operands, 0) + planes.image(plane) * p.channels + planes.firstChannel(plane);
      for (std::int64_t lane = 0; lane < planes.lanes(plane); ++lane)
        pixels[static_cast<std::size_t>(plane * planes.block + lane)] = T(p.scale * static_cast<double>(received[lane]));
    }
    gather<T>(planes, rows, columns, {1, 1}, {p.height, p.width}, pixels.data(), elements<T>(operands, 1));
  };
}

#define TILEFOLD_INSTANTIATE(T)                                             \
  template Launch globalAveragePoolForward<T>(const GlobalAveragePool&);    \
  template Launch globalAveragePoolBackward<T>(const GlobalAveragePool&);   \
  template Launch averagePoolForward<T>(const AveragePool&);                \
  template Launch averagePoolBackward<T>(const AveragePool&);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
