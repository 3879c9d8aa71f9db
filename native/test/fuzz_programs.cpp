// Random programs through decoder and interpreter; then the same ones damaged: each is refused or stays inside its spaces.
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "bounded_run.hpp"
#include "buffers.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

constexpr int damagedCopies = 50;

class Fuzzer {
 public:
  Fuzzer(Device& device, Random& random) : device_(device), random_(random) {}

  EncodedProgram program() {
    EncodedProgram encoded;
    std::vector<Kernel> kernels;
    const LoadImage image = decode<LoadImage>(addKernel(kernels, KernelKind::loadImage));
    encoded.input = {2, static_cast<double>(image.channels), static_cast<double>(image.fullHeight), static_cast<double>(image.fullWidth)};
    step_.useFor(image);
    step_.parameters.images.resize(2);
    for (int i = 0; i < 4; ++i) {
      KernelKind kind = KernelKind::loadImage;
      while (kind == KernelKind::loadImage) kind = static_cast<KernelKind>(number(random_, 0, kernelKindCount - 1));
      addKernel(kernels, kind);
    }
    for (const Kernel& kernel : kernels) {
      encoded.kernels.push_back(static_cast<double>(static_cast<int>(kernel.kind)));
      encoded.kernels.insert(encoded.kernels.end(), kernel.fields.begin(), kernel.fields.end());
    }
    arena_ = host_ = 0;
    for (const char* name : {"step", "update", "evaluate"}) {
      exchange_ = 0;
      events_.clear();
      std::vector<double> code;
      for (std::size_t i = 0; i < kernels.size(); ++i) append(code, loop(number(random_, 0, 2) == 0 ? swap() : launch(i, kernels[i])));
      encoded.sections.push_back({name, code, static_cast<double>(exchange_)});
    }
    encoded.peakBytes = static_cast<double>(arena_);
    encoded.arenaBytes = static_cast<double>(arena_ + number(random_, 0, 200));
    encoded.hostBytes = static_cast<double>(host_);
    return encoded;
  }

  // Whether the decoder let it pass.
  bool run(const EncodedProgram& encoded) {
    alarm(60);  // none of these programs takes a second: what hangs ends the test
    const bool passed = runBounded(encoded, device_, step_.parameters);
    alarm(0);
    return passed;
  }

  void damage(EncodedProgram& encoded) {
    for (std::int64_t n = number(random_, 1, 2); n > 0; --n) {
      EncodedSection& section = encoded.sections[some(encoded.sections.size())];
      switch (number(random_, 0, 9)) {
        case 0: {
          double* const figures[] = {&encoded.arenaBytes, &encoded.peakBytes, &encoded.hostBytes, &section.exchangeBytes};
          damage(*figures[some(std::size(figures))]);
          break;
        }
        case 1:
          damage(encoded.input[some(encoded.input.size())]);
          break;
        case 2:
          std::swap(section, encoded.sections[some(encoded.sections.size())]);
          break;
        case 3:
        case 4:
        case 5:
          damage(encoded.kernels);
          break;
        default:
          damage(section.code);
      }
    }
  }

 private:
  std::size_t some(std::size_t count) { return static_cast<std::size_t>(number(random_, 0, static_cast<std::int64_t>(count) - 1)); }

  void damage(double& value) {
    switch (number(random_, 0, 2)) {
      case 0:
        value = odd();
        break;
      case 1:
        value += static_cast<double>(number(random_, -2, 2));
        break;
      default:
        value *= 2;
    }
  }

  void damage(std::vector<double>& numbers) {
    if (numbers.empty()) return;
    const std::size_t position = some(numbers.size());
    if (number(random_, 0, 3) == 0)
      numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(position));
    else
      damage(numbers[position]);
  }

  double odd() {
    static const double values[] = {0, 1, -1, 2, 3, 4, 7, 8, 64, 0.5, 1e6, 2147483648.0, 0x1p52, 0x1p53, 0x1p62, 1e300, INFINITY, NAN};
    return values[number(random_, 0, static_cast<std::int64_t>(std::size(values)) - 1)];
  }

  const Kernel& addKernel(std::vector<Kernel>& kernels, KernelKind kind) {
    return kernels.emplace_back(inLayouts(randomKernel(kind, random_), device_, random_));
  }

  static void append(std::vector<double>& code, const std::vector<double>& more) { code.insert(code.end(), more.begin(), more.end()); }

  // A place for `bytes` in each turn of the loop that surrounds it; `end` is where the space is taken so far.
  std::vector<double> place(std::int64_t& end, std::int64_t bytes) {
    const std::int64_t start = (end + 63) / 64 * 64, stride = (bytes + 63) / 64 * 64;
    end = start + stride * (turns_ - 1) + bytes;
    std::vector<double> offset{static_cast<double>(start), 0, 0, 0};
    offset[1 + axis_] = static_cast<double>(stride);
    return offset;
  }

  // A launch with every operand in a fresh place.
  std::vector<double> launch(std::size_t position, const Kernel& kernel) {
    chooseLoop();
    const auto& table = kernelInfo(kernel.kind).operands;
    const std::vector<OperandExtent> extents = operandExtents(kernel, device_);
    std::vector<double> code{1, static_cast<double>(position), static_cast<double>(table.size())};
    for (std::size_t i = 0; i < table.size(); ++i) {
      const bool arena = number(random_, 0, 1) == 0, absent = extents[i].bytes == 0;
      code.push_back(table[i].use == Use::index ? 3 : absent ? 0 : arena ? 1 : 2);
      append(code, absent ? std::vector<double>(4) : place(arena ? arena_ : exchange_, extents[i].bytes));
    }
    return code;
  }

  // A copy between two events, after a wait for one that was recorded before.
  std::vector<double> swap() {
    chooseLoop();
    const auto engine = static_cast<double>(number(random_, 1, 2)), event = static_cast<double>(number(random_, 0, 3));
    std::vector<double> code;
    if (!events_.empty()) append(code, {5, static_cast<double>(number(random_, 0, 2)), events_[some(events_.size())]});
    const std::int64_t rows = number(random_, 1, 4), bytes = number(random_, 1, 100), stride = bytes + number(random_, 0, 9);
    for (const double value : {3.0, engine, double(rows), double(bytes), double(stride), double(stride)}) code.push_back(value);
    append(code, place(arena_, (rows - 1) * stride + bytes));
    append(code, place(host_, (rows - 1) * stride + bytes));
    append(code, {4, engine, event, 5, static_cast<double>(number(random_, 0, 2)), event});
    events_.push_back(event);
    return code;
  }

  void chooseLoop() {
    axis_ = some(axisCount);
    turns_ = number(random_, 1, 3);
  }

  std::vector<double> loop(const std::vector<double>& body) const {
    std::vector<double> code{2, static_cast<double>(axis_), static_cast<double>(turns_), static_cast<double>(body.size())};
    append(code, body);
    return code;
  }

  Device& device_;
  Random& random_;
  Step step_;
  std::int64_t arena_ = 0, host_ = 0, exchange_ = 0;
  std::vector<double> events_;  // recorded so far in the section
  std::size_t axis_ = 0;        // of the loop around the next instruction
  std::int64_t turns_ = 1;
};

}  // namespace

int fuzzPrograms(const std::string& name, Device& device, int programs) {
  Random random(2);
  Fuzzer fuzzer(device, random);
  int failures = 0, passed = 0, refused = 0;
  for (int i = 0; i < programs; ++i) {
    try {
      const EncodedProgram sound = fuzzer.program();
      // The sentence of a sound program that is refused.
      decodeProgram(sound, device);
      if (!fuzzer.run(sound)) throw Failure("a sound program was refused");
      for (int k = 0; k < damagedCopies; ++k) {
        EncodedProgram damaged = sound;
        fuzzer.damage(damaged);
        ++(fuzzer.run(damaged) ? passed : refused);
      }
    } catch (const std::exception& failure) {
      ++failures;
      std::printf("%s: program %d: %s\n", name.c_str(), i, failure.what());
    }
  }
  std::printf("%s: %d programs ran, %d of their damaged copies passed and %d were refused, %d failures\n", name.c_str(), programs, passed,
              refused, failures);
  return failures;
}

}  // namespace tilefold::test
