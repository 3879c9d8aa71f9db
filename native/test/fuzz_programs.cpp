// Random programs through decoder and interpreter; then the same ones damaged: each is refused or stays inside its spaces.
#include <cstdio>

#include "buffers.hpp"
#include "interpreter.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

constexpr std::int64_t mostLaunches = 2000;

std::int64_t launches(const std::vector<Instruction>& code) {
  std::int64_t sum = 0;
  for (const Instruction& instruction : code) {
    if (const auto* loop = std::get_if<Loop>(&instruction)) {
      const std::int64_t body = launches(loop->body);
      sum = loop->count > mostLaunches / body ? mostLaunches : sum + loop->count * body;
    } else {
      ++sum;
    }
    if (sum >= mostLaunches) return mostLaunches;
  }
  return sum;
}

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
    arena_ = exchange_ = 0;
    std::vector<double> code;
    for (std::size_t i = 0; i < kernels.size(); ++i) append(code, launch(i, kernels[i]));
    encoded.sections = {{"step", code, static_cast<double>(exchange_)}};
    encoded.arenaBytes = encoded.peakBytes = static_cast<double>(arena_);
    return encoded;
  }

  // Whether the decoder let it pass.
  bool run(const EncodedProgram& encoded) {
    std::unique_ptr<Interpreter> interpreter;
    try {
      interpreter = std::make_unique<Interpreter>(decodeProgram(encoded, device_), device_);
    } catch (const Failure&) {
      return false;
    }
    const Section& section = interpreter->program().sections.at(0);
    if (launches(section.code[0]) >= mostLaunches) return true;
    const Block exchange(section.exchangeBytes);
    try {
      interpreter->run(section, exchange.data(), step_.parameters, progress_);
    } catch (const Failure&) {
      // Labels and winners are only known at run time.
    }
    if (interpreter->arena().highestChangedByte() > interpreter->program().peakBytes) throw Failure("a program wrote beyond its peak");
    return true;
  }

  void damage(EncodedProgram& encoded) {
    for (std::int64_t n = number(random_, 1, 2); n > 0; --n) {
      std::vector<double>& numbers = number(random_, 0, 1) == 0 ? encoded.kernels : encoded.sections[0].code;
      if (numbers.empty()) continue;
      const auto position = static_cast<std::size_t>(number(random_, 0, static_cast<std::int64_t>(numbers.size()) - 1));
      switch (number(random_, 0, 3)) {
        case 0:
          numbers[position] = odd();
          break;
        case 1:
          numbers[position] += static_cast<double>(number(random_, -2, 2));
          break;
        case 2:
          numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(position));
          break;
        default:
          numbers[position] *= 2;
      }
    }
  }

 private:
  double odd() {
    static const double values[] = {0, 1, -1, 2, 3, 4, 7, 8, 64, 0.5, 1e6, 2147483648.0, 0x1p52, 0x1p53, 0x1p62, 1e300, INFINITY, NAN};
    return values[number(random_, 0, static_cast<std::int64_t>(std::size(values)) - 1)];
  }

  const Kernel& addKernel(std::vector<Kernel>& kernels, KernelKind kind) {
    return kernels.emplace_back(inLayouts(randomKernel(kind, random_), device_, random_));
  }

  static void append(std::vector<double>& code, const std::vector<double>& more) { code.insert(code.end(), more.begin(), more.end()); }

  // A launch with every operand in a fresh place, sometimes in a loop that walks over several places.
  std::vector<double> launch(std::size_t position, const Kernel& kernel) {
    const std::int64_t count = number(random_, 1, 3), axis = number(random_, 0, 2);
    const auto& table = kernelInfo(kernel.kind).operands;
    const std::vector<OperandExtent> extents = operandExtents(kernel, device_);
    std::vector<double> code{1, static_cast<double>(position), static_cast<double>(table.size())};
    for (std::size_t i = 0; i < table.size(); ++i) {
      std::vector<double> operand{0, 0, 0, 0, 0};
      if (table[i].use == Use::index) {
        operand[0] = 3;
      } else if (extents[i].bytes > 0) {
        const bool arena = number(random_, 0, 1) == 0;
        std::int64_t& end = arena ? arena_ : exchange_;
        const std::int64_t start = (end + 63) / 64 * 64, stride = (extents[i].bytes + 63) / 64 * 64;
        operand[0] = arena ? 1 : 2;
        operand[1] = static_cast<double>(start);
        operand[2 + static_cast<std::size_t>(axis)] = static_cast<double>(stride);
        end = start + stride * (count - 1) + extents[i].bytes;
      }
      append(code, operand);
    }
    std::vector<double> loop{2, static_cast<double>(axis), static_cast<double>(count), static_cast<double>(code.size())};
    append(loop, code);
    return loop;
  }

  Device& device_;
  Random& random_;
  Step step_;
  Progress progress_;
  std::int64_t arena_ = 0, exchange_ = 0;
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
      for (int k = 0; k < 20; ++k) {
        EncodedProgram damaged = sound;
        fuzzer.damage(damaged);
        ++(fuzzer.run(damaged) ? passed : refused);
      }
    } catch (const Failure& failure) {
      ++failures;
      std::printf("%s: program %d: %s\n", name.c_str(), i, failure.what());
    }
  }
  std::printf("%s: %d programs ran, %d of their damaged copies passed and %d were refused, %d failures\n", name.c_str(), programs, passed,
              refused, failures);
  return failures;
}

}  // namespace tilefold::test
