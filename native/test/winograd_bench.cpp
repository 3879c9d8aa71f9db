// Winograd against the direct kernels, in turn, by the least time of each: winograd_bench [threads]
// [channels extent [outChannels [dilation]]]. Without a shape: VGG's at 1024 x 1024 and tiles of
// them. Rates count the multiplications and additions of the direct sum.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

#include "../src/cpu/cpu_device.hpp"
#include "../src/kernels/kernel_fields.hpp"

using namespace tilefold;

namespace {

class Floats {
 public:
  explicit Floats(std::size_t bytes)
      : bytes_(bytes), data_(static_cast<float*>(std::aligned_alloc(64, std::max<std::size_t>(64, (bytes + 63) / 64 * 64))), std::free) {
    std::minstd_rand generator(1);
    for (std::size_t i = 0; i < bytes / sizeof(float); ++i) data_.get()[i] = static_cast<float>(generator() % 2001) / 1000 - 1;
  }
  Operand operand() const { return {bytes_ == 0 ? nullptr : reinterpret_cast<std::byte*>(data_.get()), 0}; }

 private:
  std::size_t bytes_;
  std::shared_ptr<float> data_;
};

// Of all threads: what other programs take of the processor does not count, waiting for one another
// does.
double processorSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Contender {
  std::unique_ptr<CompiledKernel> kernel;
  std::vector<Floats> buffers;
  std::size_t scratch = 0;
  double least = 1e30, minProcessor = 1e30;

  void launch() {
    std::vector<Operand> operands;
    for (const Floats& buffer : buffers) operands.push_back(buffer.operand());
    const auto begin = std::chrono::steady_clock::now();
    const double processor = processorSeconds();
    kernel->launch(operands, {});
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    minProcessor = std::min(minProcessor, processorSeconds() - processor);
  }
};

double code(Layout layout) { return static_cast<double>(layout); }

void compare(Device& device, std::int64_t in, std::int64_t out, std::int64_t extent, std::int64_t dilation) {
  const auto n = static_cast<double>(extent), i = static_cast<double>(in), o = static_cast<double>(out), d = static_cast<double>(dilation);
  const auto floats = [](std::int64_t count) { return Floats(static_cast<std::size_t>(count) * sizeof(float)); };
  const Layout blocked = device.activationLayout(in, false);
  const auto weights = [&](Layout layout) { return floats(weightElements(layout, out, in, 3, 3, 1)); };
  const auto convolution = [&](KernelKind kind, Layout layout, double algorithm) {
    Kernel kernel{kind, {1, i, n, n, n, n, 3, 3, 1, 1, d, d, d, d, d, d, o, 1, code(blocked), code(blocked), code(layout), algorithm}};
    if (kind == KernelKind::convolutionForward) kernel.fields.push_back(0);
    return kernel;
  };
  const Floats x = floats(in * extent * extent), y = floats(out * extent * extent), bias = floats(out);
  const Device::WeightLayouts layouts = device.weightLayouts(convolution(KernelKind::convolutionForward, Layout::plain, 0));
  const auto contender = [&](const Kernel& kernel, std::vector<Floats> buffers) {
    const std::size_t scratch = device.scratchBytes(kernel);
    buffers.emplace_back(scratch);
    return Contender{device.compile(kernel), std::move(buffers), scratch};
  };
  const auto race = [&](const char* name, auto contenders) {
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < 200; ++round) {
      for (Contender& one : contenders) one.launch();
      if (round > 4 && std::chrono::steady_clock::now() - begin > std::chrono::seconds(2)) break;
    }
    const double flops = 18 * n * n * i * o;
    const auto side = [&](const char* which, const Contender& c) {
      std::printf("  %s %8.2f ms %4.0f GF/s (processor %8.2f ms %4.0f GF/s)", which, 1e3 * c.least, 1e-9 * flops / c.least,
                  1e3 * c.minProcessor, 1e-9 * flops / c.minProcessor);
    };
    std::printf("%4lld -> %4lld at %4lld  %-16s", static_cast<long long>(in), static_cast<long long>(out), static_cast<long long>(extent),
                name);
    const Contender& direct = contenders[0];
    side("direct", direct);
    for (std::size_t c = 1; c < contenders.size(); ++c) {
      const Contender& winograd = contenders[c];
      side(contenders.size() == 2 ? "winograd" : c == 1 ? "F(4x4)" : c == 2 ? "F(6x6)" : "of stored", winograd);
      std::printf("  ratio %.2f (%.2f)  scratch %5.1f MB", direct.least / winograd.least, direct.minProcessor / winograd.minProcessor,
                  1e-6 * static_cast<double>(winograd.scratch));
    }
    std::printf("\n");
    std::fflush(stdout);
  };
  const auto forward = KernelKind::convolutionForward, data = KernelKind::convolutionBackwardData,
             gradient = KernelKind::convolutionBackwardWeights;
  const auto forwardBy = [&](Layout layout, double algorithm) {
    return contender(convolution(forward, layout, algorithm), {x, weights(layout), bias, y});
  };
  const auto dataBy = [&](Layout layout, double algorithm) {
    return contender(convolution(data, layout, algorithm), {y, weights(layout), x});
  };
  const auto gradientBy = [&](double algorithm) {
    return contender(convolution(gradient, layouts.forward, algorithm), {x, y, weights(layouts.forward), bias});
  };
  const auto together = [](auto... each) {
    std::vector<Contender> all;
    (all.push_back(std::move(each)), ...);
    return all;
  };
  auto forwards = together(forwardBy(layouts.forward, 0), forwardBy(Layout::winogradForward, 1), forwardBy(Layout::winograd6Forward, 1));
  auto backwards = together(dataBy(layouts.backwardData, 0), dataBy(Layout::winogradBackward, 1), dataBy(Layout::winograd6Backward, 1));
  try {
    forwards.push_back(forwardBy(layouts.stored, 1));
    backwards.push_back(dataBy(layouts.stored, 1));
  } catch (const Failure&) {
    // Weights as they are stored are read where tiles are few alone.
  }
  race("forward", std::move(forwards));
  race("backward data", std::move(backwards));
  race("backward weights", together(gradientBy(0), gradientBy(1)));
  const auto reorder = [&](Layout to) {
    return Contender{device.compile({KernelKind::reorderWeights, {o, i, 3, 3, 1, code(layouts.forward), code(to)}}),
                     {weights(layouts.forward), weights(to)}};
  };
  std::printf("      weights' transforms, of the processor:");
  for (const Layout layout : {Layout::winogradForward, Layout::winogradBackward, Layout::winograd6Forward, Layout::winograd6Backward}) {
    Contender transform = reorder(layout);
    for (int round = 0; round < 5; ++round) transform.launch();
    std::printf(" %s %.2f ms", layoutInfo(layout).name, 1e3 * transform.minProcessor);
  }
  std::printf("\n");
}

}  // namespace

int main(int count, char** arguments) {
  const auto argument = [&](int i, std::int64_t otherwise) { return count > i ? std::strtoll(arguments[i], nullptr, 10) : otherwise; };
  const std::unique_ptr<Device> device = makeCpuDevice(Precision::float32, static_cast<int>(argument(1, 2)));
  if (count > 3) {
    compare(*device, argument(2, 0), argument(4, argument(2, 0)), argument(3, 0), argument(5, 1));
    return 0;
  }
  const std::int64_t shapes[][2] = {{64, 1024}, {128, 512}, {256, 256}, {512, 128}, {512, 64},
                                    {64, 260},  {128, 132}, {256, 66},  {512, 66},  {512, 34}};
  for (const auto& [channels, extent] : shapes) compare(*device, channels, channels, extent, 1);
  return 0;
}
