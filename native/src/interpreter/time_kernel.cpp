#include "time_kernel.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "../engines/engines.hpp"
#include "../kernels/kernel_fields.hpp"
#include "../program/operand.hpp"
#include "../kernels/padding.hpp"
#include "../engines/progress.hpp"

namespace tilefold {
namespace {

constexpr std::int64_t alignment = 64;  // as staging places buffers
constexpr std::size_t minRows = 3;

// What a median is taken over: long enough that a timer's tick does not move it.
struct Enough {
  double rowMilliseconds, milliseconds;
  std::size_t minInRow, maxInRow, maxRows;
};
// Of two launches one finds its operands in memory, unless they are warm, and one in the caches,
// where they fit, unless they are cold: in a step weights are in memory, and activations often
// where the kernel before left them.
constexpr Enough enoughAtOnce{0, 15, 2, 2, 5}, enoughCold{0, 15, 1, 1, 5};
constexpr Enough enoughQueued{0.5, 3, 1, 100, 1000};  // events of a GPU tick in half a microsecond

// In every byte: 0.186 as a float32 or bfloat16, 7e-9 as a float64. Denormal or infinite numbers
// would cost time that real ones do not. Labels and indices are integers.
constexpr std::byte moderate{0x3E}, zero{0};

// Pixels; rows that lie further apart share no page of memory anyway.
constexpr std::int64_t widest = 4096;

// A load from an image of its tile's rows alone, as far apart as matters: all of a large image may
// be more than there is memory.
Kernel fromFewRows(Kernel kernel) {
  if (kernel.kind != KernelKind::loadImage) return kernel;
  const auto load = decode<LoadImage>(kernel);
  const std::vector<const char*>& names = kernelInfo(kernel.kind).fields;
  const auto set = [&](const std::string& name, std::int64_t value) {
    kernel.fields[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())] = static_cast<double>(value);
  };
  set("fullHeight", load.height);
  set("fullWidth", std::min(load.fullWidth, std::max(load.width, widest)));
  return kernel;
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

struct Timed {
  Timed(const Kernel& kernel, Device& device) : kernel(kernel), extents(operandExtents(kernel, device)) {
    for (const OperandExtent& extent : extents) bytes += roundUp(extent.bytes, alignment);
    if (hasWinners()) bytes += roundUp(extents[2].bytes, alignment);
  }
  // Whatever won must be an element of its window: the forward kernel, which has the same fields,
  // says which.
  bool hasWinners() const { return kernel.kind == KernelKind::maxPoolBackward; }

  Kernel kernel;
  std::vector<OperandExtent> extents;
  std::int64_t bytes = 0;
};

double medianOf(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

// Whether the kernel before it in a step has mostly just read or written the same.
bool isWarm(KernelKind kind) { return kind == KernelKind::normaliseForward || kind == KernelKind::normaliseBackward; }

// Whether it reads nothing but weights, their gradients and the optimizer's state.
bool isCold(KernelKind kind) {
  switch (kind) {
    case KernelKind::sgd:
    case KernelKind::adam:
    case KernelKind::sumSquares:
    case KernelKind::clipGradient:
    case KernelKind::reorderWeights:
    case KernelKind::sliceWeights:
    case KernelKind::castWeights:
      return true;
    default:
      return false;
  }
}

std::vector<double> rowsOf(Engines& engines, CompiledKernel& kernel, const std::vector<Operand>& operands, KernelKind kind) {
  const Enough& enough = engines.queue() ? enoughQueued : isCold(kind) ? enoughCold : enoughAtOnce;
  engines.launchTimed(Engine::compute, kernel, operands);
  const double first = engines.launchTimed(Engine::compute, kernel, operands);
  const double launches = std::ceil(enough.rowMilliseconds / std::max(first, 1e-6));
  const std::size_t inRow = std::clamp(static_cast<std::size_t>(launches), enough.minInRow, enough.maxInRow);
  const double rows = std::ceil(enough.milliseconds / std::max(first * static_cast<double>(inRow), 1e-6));
  return engines.timeRows(kernel, operands, {std::clamp(static_cast<std::size_t>(rows), minRows, enough.maxRows), inRow, isWarm(kind)});
}

double timeIn(Engines& engines, const Images& images, const Timed& timed, Device& device) {
  const std::vector<OperandInfo>& table = kernelInfo(timed.kernel.kind).operands;
  std::byte* next = engines.arena();
  const auto place = [&](std::int64_t bytes, std::byte value) {
    Operand operand;
    operand.address = next;
    engines.fill(next, value, static_cast<std::size_t>(bytes));
    next += roundUp(bytes, alignment);
    return operand;
  };
  std::vector<Operand> operands(timed.extents.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (timed.extents[i].bytes == 0) continue;
    const std::string name = table[i].name;
    operands[i] = place(timed.extents[i].bytes, name == "labels" || name == "indices" ? zero : moderate);
  }
  if (timed.kernel.kind == KernelKind::padForward) {
    // Not every tile can be at the start.
    const auto pad = decode<Pad>(timed.kernel);
    const PaddedAxis rows = rowsOf(pad, {}).somewhere(), columns = columnsOf(pad, {}).somewhere();
    operands[2].index = rows.source;
    operands[3].index = columns.source;
    operands[4].index = rows.destination;
    operands[5].index = columns.destination;
  }
  const std::unique_ptr<CompiledKernel> compiled = device.compile(timed.kernel);
  Section section;
  section.loadsImages = !images.parameters.images.empty();
  const Progress progress;
  try {
    engines.take(section, images.parameters);
    engines.begin(section, nullptr, false, progress);
    if (timed.hasWinners()) {
      const Operand source = place(timed.extents[2].bytes, moderate);
      const std::unique_ptr<CompiledKernel> forward = device.compile({KernelKind::maxPoolForward, timed.kernel.fields});
      engines.launchTimed(Engine::compute, *forward, {source, operands[0], operands[1]});
    }
    std::vector<double> rows = rowsOf(engines, *compiled, operands, timed.kernel.kind);
    engines.end(true);
    return medianOf(std::move(rows));
  } catch (...) {
    engines.abandon();
    throw;
  }
}

}  // namespace

std::vector<std::variant<double, std::string>> timeKernels(const std::vector<Kernel>& kernels, Device& device) {
  std::vector<std::variant<double, std::string>> answers(kernels.size());
  std::unique_ptr<Engines> shared;
  std::int64_t sharedBytes = 0;
  const auto answer = [&](std::size_t i, const Timed& timed) {
    const auto enginesFor = [&](const ImageExtent& images) {
      return device.engines({static_cast<std::size_t>(std::max(timed.bytes, alignment)), 0, 0, images}, 0);
    };
    const Images images(timed.kernel);
    if (images.extent().batch > 0) {
      shared.reset();  // a device runs one program's engines at a time
      sharedBytes = 0;
      answers[i] = timeIn(*enginesFor(images.extent()), images, timed, device);
      return;
    }
    if (!shared || timed.bytes > sharedBytes) {
      shared.reset();
      shared = enginesFor({});
      sharedBytes = timed.bytes;
    }
    answers[i] = timeIn(*shared, images, timed, device);
  };
  const auto orWhyNot = [&](std::size_t i, const auto& body) {
    try {
      body();
    } catch (const std::exception& error) {
      answers[i] = std::string(error.what());
    }
  };
  std::vector<std::pair<std::size_t, Timed>> all;
  for (std::size_t i = 0; i < kernels.size(); ++i) orWhyNot(i, [&] { all.emplace_back(i, Timed(fromFewRows(kernels[i]), device)); });
  // The largest first: then none needs another arena.
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  for (const auto& [i, timed] : all) orWhyNot(i, [&, &index = i, &one = timed] { answer(index, one); });
  return answers;
}

double timeCopy(Device& device, Engine engine) {
  constexpr std::size_t bytes = std::size_t{1} << 26;
  constexpr auto size = static_cast<std::int64_t>(bytes);
  const std::unique_ptr<Engines> engines = device.engines({bytes, bytes, 0, {}}, 0);
  if (!engines->queue()) engines->thread(engine);
  Progress progress;
  const StepParameters none;
  double best = 0;
  for (int repeat = 0; repeat < 4; ++repeat) {
    Section section;
    section.name = std::to_string(repeat);  // one that has not run before is no graph
    const auto start = std::chrono::steady_clock::now();
    engines->take(section, none);
    engines->begin(section, nullptr, false, progress);
    engines->copy(engine, {engines->arena(), size}, {engines->hostPool(), size}, 1, size, progress);
    engines->end(true);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = repeat == 0 ? seconds : std::min(best, seconds);
  }
  return static_cast<double>(bytes) / best;
}

}  // namespace tilefold
