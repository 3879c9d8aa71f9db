#include "interpreter.hpp"

#include <cmath>

namespace tilefold {
namespace {

std::vector<std::unique_ptr<CompiledKernel>> compileAll(const std::vector<Kernel>& kernels, Device& device) {
  std::vector<std::unique_ptr<CompiledKernel>> compiled;
  for (const Kernel& kernel : kernels) compiled.push_back(device.compile(kernel));
  return compiled;
}

void checkColour(const std::string& name, const Image& image) {
  if (image.channels != 3)
    throw Failure(name + " has " + std::to_string(image.channels) + " channels, but colour changes red, green and blue: leave it out");
  for (const double factor : *image.colour)
    if (!std::isfinite(factor)) throw Failure(name + " has a colour that is not 12 finite numbers");
}

}  // namespace

struct Interpreter::State {
  std::byte* exchange;
  const StepParameters& step;
  const std::atomic<bool>& stop;
  std::array<std::int64_t, axisCount> index{};
  std::vector<Operand> operands{};
};

Interpreter::Interpreter(Program program, Device& device)
    : program_(std::move(program)), kernels_(compileAll(program_.kernels, device)), arena_(program_.arenaBytes) {}

bool Interpreter::run(const Section& section, std::byte* exchange, const StepParameters& step, const std::atomic<bool>& stop) {
  if (section.loadsImages) checkImages(step.images, program_.input);
  if (reinterpret_cast<std::uintptr_t>(exchange) % sizeof(double) != 0) throw Failure("the exchange buffer is not aligned to 8 bytes");
  State state{exchange, step, stop};
  return run(section.code, state);
}

bool Interpreter::run(const std::vector<Instruction>& code, State& state) {
  for (const Instruction& instruction : code) {
    if (state.stop.load(std::memory_order_relaxed)) return false;
    if (!std::visit([&](const auto& it) { return execute(it, state); }, instruction)) return false;
  }
  return true;
}

bool Interpreter::execute(const Launch& launch, State& state) {
  state.operands.clear();
  for (const Address& address : launch.operands) {
    std::int64_t value = address.base;
    for (std::size_t axis = 0; axis < axisCount; ++axis) value += address.strides[axis] * state.index[axis];
    Operand operand;
    if (address.space == Space::arena) operand.address = arena_.data() + value;
    if (address.space == Space::exchange) operand.address = state.exchange + value;
    if (address.space == Space::index) operand.index = value;
    state.operands.push_back(operand);
  }
  kernels_[launch.kernel]->launch(state.operands, state.step);
  return true;
}

bool Interpreter::execute(const Loop& loop, State& state) {
  bool finished = true;
  for (std::int64_t i = 0; finished && i < loop.count; ++i) {
    state.index[loop.axis] = i;
    finished = run(loop.body, state);
  }
  state.index[loop.axis] = 0;
  return finished;
}

void checkImages(const std::vector<Image>& images, const ImageExtent& input) {
  if (static_cast<std::int64_t>(images.size()) != input.batch)
    throw Failure("the step was given " + std::to_string(images.size()) + " images for a batch of " + std::to_string(input.batch));
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Image& image = images[i];
    const std::string name = "image " + std::to_string(i);
    if (image.channels != input.channels)
      throw Failure(name + " has " + std::to_string(image.channels) + " channels, but the network reads " + std::to_string(input.channels));
    if (image.quarterTurns < 0 || image.quarterTurns > 3)
      throw Failure(name + " is turned by " + std::to_string(image.quarterTurns) + " quarters: give quarterTurns of 0 to 3");
    if (image.colour) checkColour(name, image);
    const std::int64_t height = image.onItsSide() ? input.width : input.height, width = image.onItsSide() ? input.height : input.width;
    if (image.cropTop < 0 || image.cropLeft < 0 || image.height < height || image.width < width || image.cropTop > image.height - height ||
        image.cropLeft > image.width - width)
      throw Failure(name + " of " + std::to_string(image.height) + "x" + std::to_string(image.width) + " does not hold a crop of " +
                    std::to_string(height) + "x" + std::to_string(width) + " at row " + std::to_string(image.cropTop) + ", column " +
                    std::to_string(image.cropLeft) + (image.onItsSide() ? ", to be turned on its side" : ""));
  }
}

}  // namespace tilefold
