#include "time_kernel.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "arena.hpp"
#include "kernel_fields.hpp"
#include "operand.hpp"

namespace tilefold {
namespace {

constexpr std::int64_t alignment = 64;  // as staging places buffers
constexpr std::size_t fewestLaunches = 3;

template <class Body>
double milliseconds(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Moderate numbers everywhere: denormal or infinite ones would cost time that real ones do not. Labels and winners are integers.
void fill(std::byte* data, std::int64_t bytes, Precision precision, bool integers) {
  const auto count = static_cast<std::size_t>(bytes / bytesOf(precision));
  if (integers)
    std::memset(data, 0, static_cast<std::size_t>(bytes));
  else if (precision == Precision::float64)
    std::fill_n(reinterpret_cast<double*>(data), count, 0.25);
  else
    std::fill_n(reinterpret_cast<float*>(data), count, 0.25F);
}

struct Images {
  explicit Images(const Kernel& kernel) {
    if (kernel.kind != KernelKind::loadImage) return;
    const auto load = decode<LoadImage>(kernel);
    pixels.resize(static_cast<std::size_t>(load.fullHeight * load.fullWidth * load.channels));
    Image image;
    image.pixels = pixels.data();
    image.height = load.fullHeight;
    image.width = load.fullWidth;
    image.channels = load.channels;
    parameters.images.assign(static_cast<std::size_t>(load.batch), image);
  }
  std::vector<std::uint8_t> pixels;
  StepParameters parameters;
};

}  // namespace

double timeKernel(const Kernel& kernel, Device& device, double enough) {
  const std::vector<OperandExtent> extents = operandExtents(kernel, device);
  const std::vector<OperandInfo>& table = kernelInfo(kernel.kind).operands;
  std::int64_t bytes = 0;
  for (const OperandExtent& extent : extents) bytes += roundUp(extent.bytes, alignment);
  const Arena arena(static_cast<std::size_t>(std::max(bytes, alignment)));
  std::vector<Operand> operands(extents.size());
  std::byte* next = arena.data();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i].bytes == 0) continue;
    const std::string name = table[i].name;
    fill(next, extents[i].bytes, device.precision(), name == "labels" || name == "winners");
    operands[i].address = next;
    next += roundUp(extents[i].bytes, alignment);
  }
  const Images images(kernel);
  // Whatever won must be an element of its window: let the forward kernel, which has the same fields, say which.
  if (kernel.kind == KernelKind::maxPoolBackward) {
    const Arena source(static_cast<std::size_t>(extents[2].bytes));
    fill(source.data(), extents[2].bytes, device.precision(), false);
    Operand from;
    from.address = source.data();
    device.compile({KernelKind::maxPoolForward, kernel.fields})->launch({from, operands[0], operands[1]}, images.parameters);
  }
  const std::unique_ptr<CompiledKernel> compiled = device.compile(kernel);
  const auto launch = [&] { compiled->launch(operands, images.parameters); };
  launch();
  std::vector<double> times;
  double sum = 0;
  while (times.size() < fewestLaunches || sum < enough) {
    times.push_back(milliseconds(launch));
    sum += times.back();
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double timeCopy() {
  constexpr std::size_t bytes = std::size_t{1} << 26;
  const Arena from(bytes), to(bytes);
  double best = 0;
  for (int repeat = 0; repeat < 4; ++repeat) {
    const double time = milliseconds([&] { std::memcpy(to.data(), from.data(), bytes); });
    best = repeat == 0 ? time : std::min(best, time);
  }
  return 1000 * static_cast<double>(bytes) / best;
}

}  // namespace tilefold
