#include "time_kernel.hpp"

#include <algorithm>
#include <chrono>

#include "engines.hpp"
#include "kernel_fields.hpp"
#include "operand.hpp"
#include "progress.hpp"

namespace tilefold {
namespace {

constexpr std::int64_t alignment = 64;  // as staging places buffers
constexpr std::int64_t mostUploaded = std::int64_t{1} << 26;  // at once: operands may take nearly all memory
constexpr std::size_t fewestLaunches = 3, mostLaunches = 1000;

// Moderate numbers everywhere: denormal or infinite ones would cost time that real ones do not. Labels and winners are integers.
std::vector<std::byte> filling(std::int64_t bytes, Precision precision, bool integers) {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  const auto count = static_cast<std::size_t>(bytes / bytesOf(precision));
  if (integers) return data;
  if (precision == Precision::float64)
    std::fill_n(reinterpret_cast<double*>(data.data()), count, 0.25);
  else
    std::fill_n(reinterpret_cast<float*>(data.data()), count, 0.25F);
  return data;
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
  ImageExtent extent() const {
    if (parameters.images.empty()) return {};
    const Image& image = parameters.images.front();
    return {static_cast<std::int64_t>(parameters.images.size()), image.channels, image.height, image.width};
  }
  std::vector<std::uint8_t> pixels;
  StepParameters parameters;
};

}  // namespace

double timeKernel(const Kernel& kernel, Device& device, double enough) {
  const std::vector<OperandExtent> extents = operandExtents(kernel, device);
  const std::vector<OperandInfo>& table = kernelInfo(kernel.kind).operands;
  // Whatever won must be an element of its window: let the forward kernel, which has the same fields, say which.
  const bool winners = kernel.kind == KernelKind::maxPoolBackward;
  std::int64_t bytes = winners ? roundUp(extents[2].bytes, alignment) : 0;
  for (const OperandExtent& extent : extents) bytes += roundUp(extent.bytes, alignment);
  const Images images(kernel);
  const ImageExtent extent = images.extent();
  const std::unique_ptr<Engines> engines = device.engines({static_cast<std::size_t>(std::max(bytes, alignment)), 0, 0, extent}, 0);
  std::byte* next = engines->arena();
  const auto place = [&](std::int64_t size, bool integers) {
    std::byte* const address = next;
    const std::vector<std::byte> data = filling(std::min(size, mostUploaded), device.precision(), integers);
    for (std::int64_t at = 0; at < size; at += mostUploaded)
      engines->upload(address + at, data.data(), static_cast<std::size_t>(std::min(mostUploaded, size - at)));
    next += roundUp(size, alignment);
    return address;
  };
  std::vector<Operand> operands(extents.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (extents[i].bytes == 0) continue;
    const std::string name = table[i].name;
    operands[i].address = place(extents[i].bytes, name == "labels" || name == "winners");
  }
  const std::unique_ptr<CompiledKernel> compiled = device.compile(kernel);
  Section section;
  section.loadsImages = !images.parameters.images.empty();
  engines->begin(section, nullptr, images.parameters);
  if (winners) {
    Operand source;
    source.address = place(extents[2].bytes, false);
    engines->launchTimed(Engine::compute, *device.compile({KernelKind::maxPoolForward, kernel.fields}), {source, operands[0], operands[1]});
  }
  engines->launchTimed(Engine::compute, *compiled, operands);
  std::vector<double> times;
  double sum = 0;
  while (times.size() < fewestLaunches || (sum < enough && times.size() < mostLaunches)) {
    times.push_back(engines->launchTimed(Engine::compute, *compiled, operands));
    sum += times.back();
  }
  engines->end(true);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

double timeCopy(Device& device, Engine engine) {
  constexpr std::size_t bytes = std::size_t{1} << 26;
  constexpr auto size = static_cast<std::int64_t>(bytes);
  const std::unique_ptr<Engines> engines = device.engines({bytes, bytes, 0, {}}, 0);
  if (!engines->queue()) engines->thread(engine);
  Progress progress;
  double best = 0;
  for (int repeat = 0; repeat < 4; ++repeat) {
    Section section;
    section.name = std::to_string(repeat);  // one that has not run before is no graph
    const auto start = std::chrono::steady_clock::now();
    engines->begin(section, nullptr, {});
    engines->copy(engine, {engines->arena(), size}, {engines->hostPool(), size}, 1, size, progress);
    engines->end(true);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = repeat == 0 ? seconds : std::min(best, seconds);
  }
  return static_cast<double>(bytes) / best;
}

}  // namespace tilefold
