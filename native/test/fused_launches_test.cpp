// Launches that are one pass over memory with those before: of the cuda device's own kernels,
// against the same launches apart, bit for bit.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <vector>

#include "cuda/cuda_device.hpp"
#include "emulated_cuda/runtime.hpp"
#include "engines/engines.hpp"
#include "kernels/kernel_fields.hpp"
#include "kernels/normalisation.hpp"

namespace tilefold::test {
namespace {

using Numbers = std::vector<double>;

constexpr double nhwc = static_cast<double>(Layout::nhwc), ohwi = static_cast<double>(Layout::ohwi);
constexpr std::size_t slotBytes = 1 << 14, slots = 8;
// Slots of operands; `statistics` holds moments, `none` is no address.
constexpr int a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, statistics = 6, scratch = 7, none = -1;

struct Launch {
  Kernel kernel;
  std::vector<int> operands;
};

struct Row {
  const char* name;
  std::vector<Launch> launches;
  int spared;  // kernels, where they are one
};

Numbers tile(double batch, double channels, double height, double width) { return {batch, channels, height, width, nhwc}; }
Numbers square(double batch, double channels, double size, double out, double kernel, double stride, double pad) {
  return {batch, channels, size, size, out, out, kernel, kernel, stride, stride, 1, 1, pad, pad, pad, pad};
}
Numbers operator+(Numbers left, const Numbers& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Launch add(const Numbers& extents, int from, int to) {
  const double row = extents[3], plane = extents[2] * row, image = extents[1] * plane;
  return {{KernelKind::copyBox, extents + Numbers{image, plane, row, image, plane, row, 1, 0}}, {from, to}};
}
Launch rectify(double count, double slope, int output, int from, int to) {
  return {{KernelKind::rectifierBackward, {count, slope}}, {output, from, to}};
}
Launch pool(const Numbers& window, int to) { return {{KernelKind::maxPoolBackward, window + Numbers{nhwc}}, {a, e, to}}; }
Launch normalise(const Numbers& of, double slope, int to) {
  return {{KernelKind::normaliseForward, of + Numbers{of[1], 0, 1e-5, slope}}, {a, statistics, e, f, to}};
}
Launch sum(double count, double slope, int one, int other, int to) { return {{KernelKind::addForward, {count, slope}}, {one, other, to}}; }
Launch reduce(const Numbers& of, double slope, int gradient, int sums) {
  return {{KernelKind::normaliseBackwardReduce, of + Numbers{of[1], 0, 1e-5, slope}}, {a, statistics, e, f, gradient, sums}};
}
Launch weights(const Numbers& window, double channels, int gradient, int bias, int to = e) {
  return {{KernelKind::convolutionBackwardWeights, window + Numbers{channels, 1, nhwc, nhwc, ohwi, 0}}, {a, gradient, to, bias, scratch}};
}

std::vector<Row> rows() {
  const Numbers box{2, 1, 5, 24}, of = tile(2, 8, 5, 3), ragged = tile(3, 7, 5, 3), squares = square(2, 8, 6, 3, 2, 2, 0),
                overlapping = square(2, 8, 7, 4, 3, 2, 1), few = square(2, 3, 6, 3, 2, 2, 0), window = square(2, 4, 6, 6, 3, 1, 1),
                wide = square(2, 4, 7, 7, 3, 1, 1);
  const Numbers planes{2, 8, 5, 3, static_cast<double>(Layout::plain)};
  return {
      {"a sum of gradients", {add(box, a, b), rectify(240, 0, c, b, b)}, 1},
      {"a sum of gradients and a leaky rectifier", {add(box, a, b), rectify(240, 0.1, c, b, b)}, 1},
      {"a sum elsewhere", {add(box, a, d), rectify(240, 0, c, b, b)}, 0},
      {"a sum of a part", {add({2, 1, 5, 23}, a, b), rectify(240, 0, c, b, b)}, 0},
      {"a rectifier to another place", {add(box, a, b), rectify(240, 0, c, b, d)}, 0},
      {"a pool of squares", {pool(squares, b), rectify(576, 0.1, c, b, b)}, 1},
      {"a pool of windows that overlap", {pool(overlapping, b), rectify(784, 0, c, b, b)}, 1},
      {"a pool of other elements", {pool(squares, b), rectify(575, 0, c, b, b)}, 0},
      {"a normalised summand", {normalise(of, 1, b), sum(240, 0, b, d, b)}, 1},
      {"a rectified one on the other side", {normalise(of, 0, b), sum(240, 1, d, b, b)}, 1},
      {"one that is stored too", {normalise(ragged, 0.2, b), sum(315, 0, d, b, d)}, 1},
      {"a sum to a new place", {normalise(of, 1, b), sum(240, 0, b, d, c)}, 0},
      {"twice the same summand", {normalise(of, 1, b), sum(240, 0, b, b, b)}, 0},
      {"a bias", {rectify(576, 0, c, b, b), weights(window, 8, b, d)}, 1},
      {"a bias behind another place", {rectify(576, 0, c, d, b), weights(window, 8, b, f)}, 1},
      {"a bias over the rectifier's output", {rectify(576, 0, c, b, b), weights(window, 8, b, c)}, 0},
      {"a bias over what passes the rectifier", {rectify(576, 0, c, d, b), weights(window, 8, b, d)}, 0},
      {"a bias behind a leaky rectifier", {rectify(576, 0.1, c, b, b), weights(window, 8, b, d)}, 0},
      {"a sum of gradients, reduced", {add(box, a, b), rectify(240, 0, c, b, b), reduce(of, 1, b, d)}, 2},
      {"a ragged one, reduced", {add({3, 1, 5, 21}, a, b), rectify(315, 0, c, b, b), reduce(ragged, 1, b, d)}, 2},
      {"one of planes, reduced", {add(box, a, b), rectify(240, 0, c, b, b), reduce(planes, 1, b, d)}, 2},
      {"one behind a leaky rectifier, reduced", {add(box, a, b), rectify(240, 0.1, c, b, b), reduce(of, 1, b, d)}, 1},
      {"one that is rectified again, reduced", {add(box, a, b), rectify(240, 0, c, b, b), reduce(of, 0, b, d)}, 1},
      {"another gradient, reduced", {add(box, a, b), rectify(240, 0, c, b, b), reduce(of, 1, d, f)}, 1},
      {"sums over the rectifier's output", {add(box, a, b), rectify(240, 0, c, b, b), reduce(of, 1, b, c)}, 1},
      {"a pool, and a bias behind it", {pool(squares, b), rectify(576, 0, c, b, b), weights(window, 8, b, d)}, 2},
      {"a pool of few channels, and a bias", {pool(few, b), rectify(216, 0, c, b, b), weights(window, 3, b, d)}, 1},
      {"a pool of windows that overlap, and a bias", {pool(overlapping, b), rectify(784, 0, c, b, b), weights(wide, 8, b, d)}, 1},
      {"a pool behind a leaky rectifier, and a bias", {pool(squares, b), rectify(576, 0.1, c, b, b), weights(window, 8, b, d)}, 1},
      {"a pool, and a bias over its gradient", {pool(squares, b), rectify(576, 0, c, b, b), weights(window, 8, b, a)}, 1},
      {"a pool, and a bias over which elements won", {pool(squares, b), rectify(576, 0, c, b, b), weights(window, 8, b, e, f)}, 1},
      {"a pool, and a bias over the rectifier's output", {pool(squares, b), rectify(576, 0, c, b, b), weights(window, 8, b, c)}, 1},
      {"no bias", {rectify(576, 0, c, b, b), weights(window, 8, b, none)}, 0},
  };
}

class Arena {
 public:
  Arena(Device& device, float largest) : device_(device), engines_(device.engines({slots * slotBytes, 0, 0, {}}, 0)), start_(slots * slotBytes) {
    std::mt19937 random(7);
    std::uniform_real_distribution<float> values(-largest, largest);
    if (device.precision() == Precision::bf16)
      for (std::size_t i = 0; i < start_.size() / 2; ++i) reinterpret_cast<Bfloat16*>(start_.data())[i] = values(random);
    else
      for (std::size_t i = 0; i < start_.size() / 4; ++i) reinterpret_cast<float*>(start_.data())[i] = values(random);
    auto* const moments = reinterpret_cast<Moments*>(start_.data() + statistics * slotBytes);
    for (std::size_t channel = 0; channel < 8; ++channel) moments[channel] = {30, 0.1 * static_cast<double>(channel), 9};
    // Parameters are floats whatever activations are, and indices are bytes.
    for (const int slot : {e, f})
      for (std::size_t i = 0; i < 64; ++i) reinterpret_cast<float*>(start_.data() + slot * static_cast<int>(slotBytes))[i] = values(random);
  }

  // What is in memory behind all launches, and how many kernels that took.
  std::vector<std::byte> run(const Row& row, bool apart, int& kernels) {
    std::vector<std::unique_ptr<CompiledKernel>> compiled;
    for (const Launch& launch : row.launches) compiled.push_back(device_.compile(launch.kernel));
    std::vector<std::byte> memory = start_;
    if (row.launches[0].kernel.kind == KernelKind::maxPoolBackward)
      for (std::size_t i = 0; i < 512; ++i) memory[e * slotBytes + i] = static_cast<std::byte>(i * 7 % 4);
    engines_->upload(engines_->arena(), memory.data(), memory.size());
    const int before = emulated::kernelsLaunched();
    const Section section;
    const Progress progress;
    const auto begin = [&] {
      engines_->take(section, {});
      engines_->begin(section, nullptr, true, progress);
    };
    begin();
    for (std::size_t i = 0; i < compiled.size(); ++i) {
      if (apart && i > 0) {
        engines_->end(true);
        begin();
      }
      engines_->launch(Engine::compute, *compiled[i], operandsOf(row.launches[i]));
    }
    engines_->end(true);
    kernels = emulated::kernelsLaunched() - before;
    engines_->download(engines_->arena(), memory.data(), memory.size());
    return memory;
  }

 private:
  std::vector<Operand> operandsOf(const Launch& launch) const {
    std::vector<Operand> operands;
    for (const int slot : launch.operands) {
      Operand operand;
      if (slot != none) operand.address = engines_->arena() + static_cast<std::size_t>(slot) * slotBytes;
      operands.push_back(operand);
    }
    return operands;
  }

  Device& device_;
  std::unique_ptr<Engines> engines_;
  std::vector<std::byte> start_;
};

int differences(Device& device, float largest) {
  Arena arena(device, largest);
  int failures = 0;
  for (const Row& row : rows()) {
    int together = 0, apart = 0;
    const bool same = arena.run(row, false, together) == arena.run(row, true, apart);
    if (same && apart - together == row.spared) continue;
    ++failures;
    std::printf("fused launches: %s: %d kernels, %d apart%s\n", row.name, together, apart, same ? "" : ", other bits");
  }
  return failures;
}

}  // namespace

// The emulated libraries lie beside the program.
int fusedLaunches() {
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "emulated_cuda";
  setenv("TILEFOLD_CUDNN_PATH", folder.c_str(), 1);
  int failures = 0;
  for (const Precision precision : {Precision::float32, Precision::bf16})
    // Products of the large ones are beyond float32, and so are sums of the largest.
    for (const float largest : {1.0F, 1e30F, 3e38F}) failures += differences(*makeCudaDevice(precision, false), largest);
  unsetenv("TILEFOLD_CUDNN_PATH");
  return failures;
}

}  // namespace tilefold::test
