// Random programs through decoder and interpreter; then the same ones damaged: each is refused or
// stays inside its spaces.
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "bounded_run.hpp"
#include "mirror_network.hpp"
#include "random_programs.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

constexpr int damagedCopies = 50;

class Damager {
 public:
  explicit Damager(Random& random) : random_(random) {}

  void damage(EncodedProgram& encoded) {
    for (std::int64_t n = number(random_, 1, 2); n > 0; --n) {
      EncodedSection& section = encoded.sections[some(encoded.sections.size())];
      switch (number(random_, 0, 9)) {
        case 0: {
          double* const figures[] = {&encoded.arenaBytes,    &encoded.peakBytes,   &encoded.hostBytes,
                                     &section.stepIoBytes, &encoded.pageBytes,  &encoded.addressBytes,
                                     &encoded.residentBytes};
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
          damage(encoded.workspaces);
          break;
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

  double odd() { return oddNumbers[some(std::size(oddNumbers))]; }

  Random& random_;
};

// Whether the decoder let it pass.
bool run(const EncodedProgram& encoded, Device& device, const StepParameters& step) {
  alarm(60);  // none of these programs takes a second: what hangs ends the test
  const bool passed = runBounded(encoded, device, step);
  alarm(0);
  return passed;
}

}  // namespace

int fuzzPrograms(const std::string& name, Device& device, int programs) {
  Random random(2);
  int failures = 0, passed = 0, refused = 0;
  for (int i = 0; i < programs; ++i) {
    try {
      const RandomProgram sound = randomProgram(device, random);
      // The sentence of a sound program that is refused.
      Interpreter(decodeProgram(sound.encoded, device), device, 0, {}, std::make_shared<MirrorNetwork>(mirrorRanks));
      if (!run(sound.encoded, device, sound.step.parameters)) throw Failure("a sound program was refused");
      for (int k = 0; k < damagedCopies; ++k) {
        EncodedProgram damaged = sound.encoded;
        Damager(random).damage(damaged);
        ++(run(damaged, device, sound.step.parameters) ? passed : refused);
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
