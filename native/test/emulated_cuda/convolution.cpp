#include "convolution.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime.hpp"
#include "tensor_core.hpp"

namespace tilefold::emulated {
namespace {

using Values = std::vector<double>;

thread_local const char* lastReason = "";

// visit(position in the tensor's own format) in the order of nchw.
template <class Visit>
void inPlanes(const Shape& s, const Visit& visit) {
  const std::size_t channels = size(s.c), pixels = size(s.h) * size(s.w);
  const bool last = s.format == TensorFormat::nhwc;
  for (std::size_t n = 0; n < size(s.n); ++n)
    for (std::size_t c = 0; c < channels; ++c)
      for (std::size_t pixel = 0; pixel < pixels; ++pixel)
        visit(last ? (n * pixels + pixel) * channels + c : (n * channels + c) * pixels + pixel);
}

Values planesOf(const Shape& shape, const void* data, bool rounds) {
  Values values(elements(shape));
  auto next = values.begin();
  inPlanes(shape, [&](std::size_t at) {
    const float value = elementAt(data, shape.type, at);
    *next++ = static_cast<double>(rounds ? tf32(value) : value);
  });
  return values;
}

// Row after row: body(first output column, end, its input column, input row, output row) of those
// inputs that one tap meets.
template <class Body>
void alongRows(const Problem& p, int ky, int kx, const Body& body) {
  const auto& w = p.window;
  const int left = kx * w.dilation[1] - w.before[1];
  const int first = left >= 0 ? 0 : (-left + w.stride[1] - 1) / w.stride[1];
  const int end = p.in(1) > left ? std::min(p.destination.w, (p.in(1) - 1 - left) / w.stride[1] + 1) : 0;
  if (first >= end) return;
  for (int y = 0; y < p.destination.h; ++y) {
    const int row = y * w.stride[0] + ky * w.dilation[0] - w.before[0];
    if (row >= 0 && row < p.in(0)) body(size(first), size(end), size(first * w.stride[1] + left), size(row), size(y));
  }
}

// The result of a direction in planes, of the other two tensors in planes (the result's own is
// empty).
Values convolve(const Problem& p, const Values& source, const Values& weights, const Values& destination) {
  const Shape& resultShape = p.direction == Direction::forward        ? p.destination
                             : p.direction == Direction::backwardData ? p.source
                                                                      : p.weights;
  Values result(elements(resultShape));
  const std::size_t inPixels = size(p.source.h) * size(p.source.w), outPixels = size(p.destination.h) * size(p.destination.w);
  const std::size_t inWidth = size(p.source.w), outWidth = size(p.destination.w), step = size(p.window.stride[1]);
  const int perGroup = p.weights.n / p.window.groups;
  for (int n = 0; n < p.source.n; ++n)
    for (int k = 0; k < p.weights.n; ++k)
      for (int c = 0; c < p.weights.c; ++c) {
        const std::size_t in = (size(n) * size(p.source.c) + size(k / perGroup * p.weights.c + c)) * inPixels;
        const std::size_t out = (size(n) * size(p.destination.c) + size(k)) * outPixels;
        for (int ky = 0; ky < p.weights.h; ++ky)
          for (int kx = 0; kx < p.weights.w; ++kx) {
            const std::size_t tap = ((size(k) * size(p.weights.c) + size(c)) * size(p.weights.h) + size(ky)) * size(p.weights.w) + size(kx);
            alongRows(p, ky, kx, [&](std::size_t first, std::size_t end, std::size_t column, std::size_t row, std::size_t y) {
              const std::size_t from = in + row * inWidth + column, to = out + y * outWidth;
              if (p.direction == Direction::forward) {
                for (std::size_t x = first; x < end; ++x) result[to + x] += weights[tap] * source[from + (x - first) * step];
              } else if (p.direction == Direction::backwardData) {
                for (std::size_t x = first; x < end; ++x) result[from + (x - first) * step] += weights[tap] * destination[to + x];
              } else {
                double sum = 0;
                for (std::size_t x = first; x < end; ++x) sum += destination[to + x] * source[from + (x - first) * step];
                result[tap] += sum;
              }
            });
          }
      }
  return result;
}

}  // namespace

Status refuse(Status status, const char* why) {
  lastReason = why;
  return status;
}
const char* lastError() { return lastReason; }

Status checkParts(const Problem& p) {
  if (p.source.format != p.weights.format) return refuse(badParameter, "formats differ");
  if (p.source.type != p.weights.type) return refuse(badParameter, "types differ");
  if (p.source.type == DataType::bfloat16 && p.window.math != MathType::tensorCores)
    return refuse(notSupported, "bf16 without tensor cores");
  if (p.weights.c * p.window.groups != p.source.c || p.weights.n % p.window.groups != 0)
    return refuse(badParameter, "channels do not match");
  if (p.out(0) <= 0 || p.out(1) <= 0) return refuse(badParameter, "the window is larger than its padded input");
  return Status::success;
}

Status check(const Problem& p) {
  if (const Status parts = checkParts(p); parts != Status::success) return parts;
  const Shape& d = p.destination;
  if (d.format != p.source.format) return refuse(badParameter, "formats differ");
  if (d.type != p.source.type) return refuse(badParameter, "types differ");
  if (d.n != p.source.n || d.c != p.weights.n || d.h != p.out(0) || d.w != p.out(1))
    return refuse(badParameter, "the output's shape differs");
  return Status::success;
}

bool misplaced(const void* address) { return address == nullptr || reinterpret_cast<std::uintptr_t>(address) % 16 != 0; }

Status enqueueProduct(Handle handle, const Problem& p, void* workspace, std::size_t workspaceBytes, float alpha, float beta,
                      const Tensors& tensors) {
  const auto work = [=] {
    // What lies there meanwhile is lost, before and after.
    const auto scribble = [&] { std::fill_n(static_cast<std::byte*>(workspace), workspaceBytes, std::byte{0xFF}); };
    scribble();
    const bool rounds = p.window.math != MathType::fma;
    const auto [source, weights, destination, result] = tensors;
    const auto read = [&, written = result](const Shape& shape, const void* data) {
      return data == written ? Values{} : planesOf(shape, data, rounds);
    };
    const Values sums = convolve(p, read(p.source, source), read(p.weights, weights), read(p.destination, destination));
    auto next = sums.begin();
    const Shape& written = result == destination ? p.destination : result == source ? p.source : p.weights;
    inPlanes(written, [&, to = result](std::size_t at) {
      double product = static_cast<double>(alpha) * *next++;
      if (beta != 0) product += static_cast<double>(beta) * static_cast<double>(elementAt(to, written.type, at));
      setElement(to, written.type, at, product);
    });
    scribble();
  };
  return enqueue(handle->stream, work) == cudaSuccess ? Status::success : refuse(notInitialised, "no stream was set");
}

}  // namespace tilefold::emulated
