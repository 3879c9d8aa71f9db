// Every kernel of the CPU device against the reference device on random shapes:
// cpu_against_reference [cases] [seed] [threads] [isa, or bf16 for convolutions in it alone].
// Outputs and scratch start as NaN and have exactly their size, so that a sanitizer sees a step
// outside.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <limits>
#include <map>
#include <string>

#include "../src/cpu/cpu_device.hpp"
#include "../src/cpu/processor/processor.hpp"
#include "../src/cpu/processor/streaming.hpp"
#include "../src/kernels/bfloat16.hpp"
#include "../src/kernels/kernel_fields.hpp"
#include "../src/program/check_kernel.hpp"
#include "../src/program/operand.hpp"
#include "../src/reference/device.hpp"
#include "guarded_buffer.hpp"

using namespace tilefold;
using namespace tilefold::guarded;

namespace {

int failures = 0;
std::map<std::string, int> implementations;

std::string describe(const Kernel& kernel) {
  const KernelInfo& info = kernelInfo(kernel.kind);
  std::string text = info.name;
  for (std::size_t i = 0; i < kernel.fields.size(); ++i)
    text += std::string(i == 0 ? ": " : ", ") + (i < info.fields.size() ? info.fields[i] : "") + " " +
            std::to_string(static_cast<long long>(kernel.fields[i]));
  return text;
}

void fail(const Kernel& kernel, const std::string& what) {
  std::printf("FAILED %s\n  %s\n", describe(kernel).c_str(), what.c_str());
  ++failures;
}

void expectClose(const Kernel& kernel, const char* operand, const Buffer& found, const Buffer& expected, double tolerance = 3e-6) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(found.data()[i]) && std::isnan(expected.data()[i])) continue;
    const double delta = static_cast<double>(found.data()[i]) - static_cast<double>(expected.data()[i]);
    difference += delta * delta;
    norm += static_cast<double>(expected.data()[i]) * static_cast<double>(expected.data()[i]);
  }
  // Inputs are of size 1: what cancels to less than that is measured against it.
  if (!(std::sqrt(difference) <= tolerance * std::sqrt(std::max(norm, static_cast<double>(expected.size())))))
    fail(kernel, std::string(operand) + " differs by " + std::to_string(std::sqrt(difference)) + ", its norm is " +
                     std::to_string(std::sqrt(norm)));
}

struct Devices {
  explicit Devices(int threadCount)
      : threads(threadCount), cpu(makeCpuDevice(Precision::float32, threadCount)), reference(makeReferenceDevice(Precision::float32)) {}
  int threads;
  std::unique_ptr<Device> cpu, reference;
};

void run(Device& device, const Kernel& kernel, const std::vector<Operand>& operands, const StepParameters& step = {}) {
  checkKernel(kernel);
  device.compile(kernel)->launch(operands, step);
}

void runCpu(Devices& devices, const Kernel& kernel, const std::vector<Operand>& operands, const StepParameters& step = {}) {
  ++implementations[std::string(kernelInfo(kernel.kind).name) + " " + cpuImplementationName(Precision::float32, kernel, devices.threads)];
  run(*devices.cpu, kernel, operands, step);
}

struct Shape {
  std::int64_t batch, channels, height, width;
  std::int64_t elements(Layout layout) const { return activationElements(layout, batch, channels, height, width); }
};

double code(Layout layout) { return static_cast<double>(layout); }
double real(std::int64_t value) { return static_cast<double>(value); }

Buffer reordered(Device& device, const Shape& s, const Buffer& source, Layout from, Layout to) {
  Buffer result(static_cast<std::size_t>(s.elements(to)) * sizeof(float));
  run(device, {KernelKind::reorderActivation, {real(s.batch), real(s.channels), real(s.height), real(s.width), code(from), code(to)}},
      {source.operand(), result.operand()});
  return result;
}

// Compares with a plain expectation, channel padding included.
void expectActivation(Devices& devices, const Kernel& kernel, const char* operand, const Shape& shape, Layout layout, const Buffer& found,
                      const Buffer& expected) {
  expectClose(kernel, operand, found, reordered(*devices.reference, shape, expected, Layout::plain, layout));
}

struct Axis {
  std::int64_t in, out, kernel, stride, dilation, before, after;
};

Axis randomAxis(std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t maxPadding) {
  const std::int64_t reach = (kernel - 1) * dilation + 1;
  const std::int64_t before = draw(0, maxPadding), after = draw(0, 1) == 0 ? before : draw(0, maxPadding);
  const std::int64_t in = std::max<std::int64_t>(draw(1, pick<std::int64_t>({3, 9, 40})), reach - before - after);
  return {in, (in + before + after - reach) / stride + 1, kernel, stride, dilation, before, after};
}

std::vector<double> windowFields(std::int64_t batch, std::int64_t channels, const Axis& rows, const Axis& columns) {
  return {real(batch),       real(channels),       real(rows.in),        real(columns.in),     real(rows.out),      real(columns.out),
          real(rows.kernel), real(columns.kernel), real(rows.stride),    real(columns.stride), real(rows.dilation), real(columns.dilation),
          real(rows.before), real(rows.after),     real(columns.before), real(columns.after)};
}

struct ConvolutionCase {
  std::vector<double> window;
  std::int64_t outChannels, groups;
  double slope = 1;
  Kernel kernel(KernelKind kind, Layout source, Layout destination, Layout weights, double algorithm = 0) const {
    std::vector<double> fields = window;
    fields.insert(fields.end(), {real(outChannels), real(groups), code(source), code(destination), code(weights), algorithm});
    if (kind == KernelKind::convolutionForward) fields.push_back(slope);
    return {kind, fields};
  }
};

// 1: no rectifier.
double randomSlope() { return pick<double>({1, 0, 0.1}); }

ConvolutionCase randomConvolution() {
  const std::int64_t groups = pick<std::int64_t>({1, 1, 1, 1, 2, 3, 4, 32});
  std::int64_t in = groups * pick<std::int64_t>({1, 3, 5, 16, 17, 32}), out = groups * pick<std::int64_t>({1, 2, 16, 20, 48});
  if (draw(0, 7) == 0) in = out = groups;
  const auto axis = [] {
    const std::int64_t kernel = pick<std::int64_t>({1, 1, 2, 3, 3, 3, 5, 7});
    const std::int64_t dilation = pick<std::int64_t>({1, 1, 1, 2, 12}), stride = pick<std::int64_t>({1, 1, 1, 2, 3, 5});
    return randomAxis(kernel, stride, dilation, pick<std::int64_t>({0, 1, 1, kernel / 2 * dilation, kernel * dilation + 1}));
  };
  const Axis rows = axis(), columns = axis();
  return {windowFields(draw(1, 2), in, rows, columns), out, groups, randomSlope()};
}

void testConvolution(Devices& devices, const ConvolutionCase& test) {
  const auto plain = Layout::plain;
  const Kernel plainForward = test.kernel(KernelKind::convolutionForward, plain, plain, plain);
  const auto c = decode<Convolution>(plainForward);
  const Shape source{c.batch, c.inChannels, c.inHeight, c.inWidth}, destination{c.batch, c.outChannels, c.outHeight, c.outWidth};
  const std::int64_t weightCount = c.outChannels * (c.inChannels / c.groups) * c.kernelHeight * c.kernelWidth;
  const Layout read = devices.cpu->activationLayout(c.inChannels, draw(0, 1) == 0), blocked = devices.cpu->activationLayout(64, false);
  const auto layouts = devices.cpu->weightLayouts(test.kernel(KernelKind::convolutionForward, read, blocked, plain));
  const Buffer x = random(source.elements(plain)), w = random(weightCount), bias = random(c.outChannels),
               dy = random(destination.elements(plain));

  const auto toLayout = [&](const Buffer& weights, Layout from, Layout to) {
    Buffer result(
        static_cast<std::size_t>(weightElements(to, c.outChannels, c.inChannels / c.groups, c.kernelHeight, c.kernelWidth, c.groups)) *
        sizeof(float));
    runCpu(devices,
           {KernelKind::reorderWeights,
            {real(c.outChannels), real(c.inChannels), real(c.kernelHeight), real(c.kernelWidth), real(c.groups), code(from), code(to)}},
           {weights.operand(), result.operand()});
    return result;
  };
  const Buffer forwardWeights = toLayout(w, plain, layouts.forward),
               backwardWeights = toLayout(forwardWeights, layouts.forward, layouts.backwardData);
  const Buffer blockedDy = reordered(*devices.cpu, destination, dy, plain, blocked);
  const bool withBias = draw(0, 3) > 0;
  const auto scratch = [&](const Kernel& kernel) { return Buffer(devices.cpu->scratchBytes(kernel)); };
  {
    Buffer y(destination.elements(plain) * sizeof(float)), found(destination.elements(blocked) * sizeof(float));
    run(*devices.reference, plainForward, {x.operand(), w.operand(), withBias ? bias.operand() : Operand{}, y.operand(), {}});
    const Kernel kernel = test.kernel(KernelKind::convolutionForward, read, blocked, layouts.forward);
    runCpu(devices, kernel,
           {reordered(*devices.cpu, source, x, plain, read).operand(), forwardWeights.operand(), withBias ? bias.operand() : Operand{},
            found.operand(), scratch(kernel).operand()});
    expectActivation(devices, kernel, "destination", destination, blocked, found, y);
  }
  for (const Layout written : {blocked, plain}) {
    Buffer dx(source.elements(plain) * sizeof(float)), found(source.elements(written) * sizeof(float));
    run(*devices.reference, test.kernel(KernelKind::convolutionBackwardData, plain, plain, plain),
        {dy.operand(), w.operand(), dx.operand(), {}});
    const Kernel kernel = test.kernel(KernelKind::convolutionBackwardData, written, blocked, layouts.backwardData);
    runCpu(devices, kernel, {blockedDy.operand(), backwardWeights.operand(), found.operand(), scratch(kernel).operand()});
    expectActivation(devices, kernel, "sourceGradient", source, written, found, dx);
  }
  Buffer dw(weightCount * sizeof(float)), db(c.outChannels * sizeof(float)), foundDw(forwardWeights.size() * sizeof(float)),
      foundDb(db.size() * sizeof(float));
  run(*devices.reference, test.kernel(KernelKind::convolutionBackwardWeights, plain, plain, plain),
      {x.operand(), dy.operand(), dw.operand(), db.operand(), {}});
  const Kernel kernel = test.kernel(KernelKind::convolutionBackwardWeights, read, blocked, layouts.forward);
  runCpu(devices, kernel,
         {reordered(*devices.cpu, source, x, plain, read).operand(), blockedDy.operand(), foundDw.operand(),
          withBias ? foundDb.operand() : Operand{}, scratch(kernel).operand()});
  expectClose(kernel, "weightGradient", foundDw, toLayout(dw, plain, layouts.forward));
  if (withBias) expectClose(kernel, "biasGradient", foundDb, db);
}

// What random shapes seldom are: a transposed convolution is the gradient of one of these, whose
// input is one pixel longer than it needs (outputPadding); dilations that reach past the tile;
// factored windows; depthwise; groups of a part of a block.
void testNetworkShapes(Devices& devices) {
  const auto axis = [](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t padding) {
    return Axis{in, (in + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1, kernel, stride, dilation, padding, padding};
  };
  const auto square = [&](std::int64_t in, std::int64_t out, std::int64_t groups, const Axis& a) {
    testConvolution(devices, {windowFields(1, in, a, a), out, groups, randomSlope()});
  };
  for (const std::int64_t channels : {16, 21, 40}) {
    square(32, channels, 1, axis(18, 2, 2, 1, 0));
    square(32, channels, 1, axis(18, 3, 2, 1, 1));
    square(channels, 16, 1, axis(18, 4, 2, 1, 1));
    for (const std::int64_t dilation : {12, 24, 36}) square(64, channels, 1, axis(25, 3, 1, dilation, dilation));
    square(channels, channels, channels, axis(17, 3, 1, 1, 1));
    square(channels, channels, channels, axis(17, 3, 2, 2, 2));
    square(channels, channels, channels, axis(70, 3, 1, 1, 1));
    testConvolution(devices, {windowFields(2, channels, axis(9, 7, 2, 1, 3), axis(290, 9, 1, 2, 8)), channels, channels});
  }
  square(32, 32, 8, axis(17, 3, 1, 1, 1));
  square(64, 64, 8, axis(18, 3, 2, 1, 1));
  testConvolution(devices, {windowFields(2, 32, axis(9, 1, 1, 1, 0), axis(19, 5, 1, 2, 4)), 32, 16});
  testConvolution(devices, {windowFields(1, 80, axis(17, 1, 1, 1, 0), axis(19, 7, 1, 1, 3)), 192, 1});
  testConvolution(devices, {windowFields(2, 192, axis(17, 7, 1, 1, 3), axis(19, 1, 1, 1, 0)), 32, 1});
}

// That training diverges must be seen: a rectifier leaves NaN (here the bias, as every buffer at
// its start) as it is, whatever computes the convolution.
void testNotANumber(Devices& devices) {
  const Layout blocked = devices.cpu->activationLayout(64, false);
  const Axis axis{12, 12, 3, 1, 1, 1, 1}, dilated{12, 2, 3, 1, 5, 0, 0};
  const auto runs = [&](const ConvolutionCase& test, Layout weightLayout, double algorithm, std::int64_t outputs) {
    const Kernel kernel = test.kernel(KernelKind::convolutionForward, blocked, blocked, weightLayout, algorithm);
    const Buffer x = random(64 * 144), w = random(weightElements(weightLayout, 64, 64 / test.groups, 3, 3, test.groups)),
                 bias(64 * sizeof(float)), found(static_cast<std::size_t>(outputs) * sizeof(float)),
                 scratch(devices.cpu->scratchBytes(kernel));
    runCpu(devices, kernel, {x.operand(), w.operand(), bias.operand(), found.operand(), scratch.operand()});
    if (!std::all_of(found.data(), found.data() + outputs, [](float value) { return std::isnan(value); })) fail(kernel, "it swallows NaN");
  };
  for (const double slope : {0.0, 0.1, 1.0}) {
    for (const std::int64_t groups : {1, 2, 64})
      for (const Axis& a : {axis, dilated}) {
        const ConvolutionCase test{windowFields(1, 64, a, a), 64, groups, slope};
        const auto layouts = devices.cpu->weightLayouts(test.kernel(KernelKind::convolutionForward, blocked, blocked, Layout::plain));
        runs(test, layouts.forward, 0, 64 * a.out * a.out);
      }
    for (const Layout layout : {Layout::winogradForward, Layout::winograd6Forward})
      runs({windowFields(1, 64, axis, axis), 64, 1, slope}, layout, 1, 64 * 144);
  }
}

// The networks that this device must run fast: forward and gradient of the input of their
// convolutions are never our own loops.
void testCompiledByLibrary(Devices& devices) {
  const Layout blocked = devices.cpu->activationLayout(64, false);
  for (const std::int64_t in : {3, 32, 64, 128, 256, 512, 1024})
    for (const std::int64_t out : {32, 64, 512, 1024, 1000, 2})
      for (const std::int64_t kernel : {1, 3})
        for (const std::int64_t size : {1, 2, 5, 14, 66, 259})
          for (const std::int64_t before : {std::int64_t{0}, kernel / 2}) {
            const std::int64_t after = draw(0, kernel / 2), output = size + before + after - kernel + 1;
            if (output < 1) continue;
            const Axis axis{size, output, kernel, 1, 1, before, after};
            const ConvolutionCase test{windowFields(1, in, axis, axis), out, 1};
            const Layout read = devices.cpu->activationLayout(in, in == 3);
            const auto layouts = devices.cpu->weightLayouts(test.kernel(KernelKind::convolutionForward, read, blocked, Layout::plain));
            for (const Kernel& kernelOf : {test.kernel(KernelKind::convolutionForward, read, blocked, layouts.forward),
                                           test.kernel(KernelKind::convolutionBackwardData, blocked, blocked, layouts.backwardData)})
              if (cpuImplementationName(Precision::float32, kernelOf, devices.threads).rfind("jit", 0) != 0)
                fail(kernelOf, "oneDNN has no compiled kernel for it");
          }
}

// Images over which oneDNN's kernels reach past what they address are ours, smaller ones are not.
void testLargeImages(int threads) {
  const auto check = [&](Precision precision, std::int64_t kernel, std::int64_t largest, std::int64_t tooLarge) {
    const auto cpu = makeCpuDevice(precision, threads);
    const Layout blocked = cpu->activationLayout(64, false);
    for (const std::int64_t extent : {largest, tooLarge}) {
      const Axis axis{extent, extent, kernel, 1, 1, kernel / 2, kernel / 2};
      const ConvolutionCase test{windowFields(1, 64, axis, axis), 64, 1};
      const auto layouts = cpu->weightLayouts(test.kernel(KernelKind::convolutionForward, blocked, blocked, Layout::plain));
      for (const Kernel& kernelOf : {test.kernel(KernelKind::convolutionForward, blocked, blocked, layouts.forward),
                                     test.kernel(KernelKind::convolutionBackwardData, blocked, blocked, layouts.backwardData)}) {
        const bool isCompiled = cpuImplementationName(precision, kernelOf, threads).rfind("jit", 0) == 0;
        if (isCompiled != (extent == largest)) fail(kernelOf, isCompiled ? "oneDNN's kernel faults" : "oneDNN's kernel is left out");
      }
    }
  };
  check(Precision::float32, 1, 2048, 4096);
  if (!cpu::multipliesPairs()) return;
  check(Precision::bf16, 1, 4096, 5800);
  check(Precision::bf16, 3, 4096, 5800);
}

// Rounds of its own: a Winograd result differs by about 1e-6 of its norm.
constexpr double winogradTolerance = 1e-5;

// Of 4 results along an axis.
std::int64_t winogradTiles(std::int64_t extent, std::int64_t dilation) {
  std::int64_t tiles = 0;
  for (std::int64_t first = 0; first < std::min(extent, dilation); ++first) tiles += ((extent - first + dilation - 1) / dilation + 3) / 4;
  return tiles;
}

void testWinograd(Devices& devices, Devices& otherThreads) {
  const auto plain = Layout::plain, blocked = devices.cpu->activationLayout(64, false);
  const std::int64_t in = 16 * pick<std::int64_t>({1, 1, 2, 3, 5, 9}), out = 16 * pick<std::int64_t>({1, 1, 2, 4, 5, 9});
  const auto axis = [] {
    const std::int64_t dilation = pick<std::int64_t>({1, 1, 1, 2, 3, 12}), before = draw(0, 2 * dilation), after = draw(0, 2 * dilation);
    const std::int64_t size = std::max<std::int64_t>(2 * dilation + 1 - before - after, draw(1, pick<std::int64_t>({4, 12, 60})));
    return Axis{size, size + before + after - 2 * dilation, 3, 1, dilation, before, after};
  };
  const Axis rows = axis(), columns = axis();
  const ConvolutionCase test{windowFields(draw(1, 3), in, rows, columns), out, 1, randomSlope()};
  const auto c = decode<Convolution>(test.kernel(KernelKind::convolutionForward, plain, plain, plain));
  const Shape source{c.batch, in, c.inHeight, c.inWidth}, destination{c.batch, out, c.outHeight, c.outWidth};
  const Buffer x = random(source.elements(plain)), w = random(out * in * 9), bias = random(out), dy = random(destination.elements(plain));
  const Layout read = blocked == Layout::nChw16c ? pick({plain, Layout::OIhw16i16o, Layout::OIhw16o16i, Layout::IOhw16o16i})
                                                 : pick({plain, Layout::OIhw8i8o, Layout::OIhw8o8i, Layout::IOhw8o8i});
  const auto toLayout = [&](const Buffer& weights, Layout from, Layout to) {
    Buffer result(static_cast<std::size_t>(weightElements(to, out, in, 3, 3, 1)) * sizeof(float));
    runCpu(devices, {KernelKind::reorderWeights, {real(out), real(in), 3, 3, 1, code(from), code(to)}},
           {weights.operand(), result.operand()});
    return result;
  };
  const Buffer stored = toLayout(w, plain, read);
  const Buffer blockedX = reordered(*devices.cpu, source, x, plain, blocked),
               blockedDy = reordered(*devices.cpu, destination, dy, plain, blocked);
  const Operand someBias = draw(0, 1) == 0 ? Operand{} : bias.operand();
  // Twice, with another number of threads: the same bits.
  const auto runTwice = [&](const Kernel& kernel, const std::vector<Operand>& read, std::size_t written, const Buffer& found) {
    const Buffer again(found.size() * sizeof(float));
    for (Devices* with : {&devices, &otherThreads}) {
      const Buffer scratch(with->cpu->scratchBytes(kernel));
      std::vector<Operand> operands = read;
      operands[written] = (with == &devices ? found : again).operand();
      operands.push_back(scratch.operand());
      runCpu(*with, kernel, operands);
    }
    if (std::memcmp(found.data(), again.data(), found.size() * sizeof(float)) != 0)
      fail(kernel, "its result depends on the number of threads");
  };
  Buffer y(destination.elements(plain) * sizeof(float)), foundY(destination.elements(blocked) * sizeof(float));
  run(*devices.reference, test.kernel(KernelKind::convolutionForward, plain, plain, plain),
      {x.operand(), w.operand(), someBias, y.operand(), {}});
  const Layout forwardLayout = pick({Layout::winogradForward, Layout::winograd6Forward}),
               backwardLayout = pick({Layout::winogradBackward, Layout::winograd6Backward});
  const Kernel forward = test.kernel(KernelKind::convolutionForward, blocked, blocked, forwardLayout, 1);
  runTwice(forward, {blockedX.operand(), toLayout(stored, read, forwardLayout).operand(), someBias, {}}, 3, foundY);
  expectClose(forward, "destination", foundY, reordered(*devices.reference, destination, y, plain, blocked), winogradTolerance);

  Buffer dx(source.elements(plain) * sizeof(float)), foundDx(source.elements(blocked) * sizeof(float));
  run(*devices.reference, test.kernel(KernelKind::convolutionBackwardData, plain, plain, plain),
      {dy.operand(), w.operand(), dx.operand(), {}});
  const Kernel data = test.kernel(KernelKind::convolutionBackwardData, blocked, blocked, backwardLayout, 1);
  runTwice(data, {blockedDy.operand(), toLayout(stored, read, backwardLayout).operand(), {}}, 2, foundDx);
  expectClose(data, "sourceGradient", foundDx, reordered(*devices.reference, source, dx, plain, blocked), winogradTolerance);

  // By weights as they are stored, where so few tiles read so many.
  const auto runFew = [&](KernelKind kind, std::vector<Operand> operands, std::size_t written, const Shape& made, const Buffer& expected) {
    const Kernel kernel = test.kernel(kind, blocked, blocked, read, 1);
    const bool isForward = kind == KernelKind::convolutionForward;
    const std::int64_t tiles = winogradTiles(made.height, rows.dilation) * winogradTiles(made.width, columns.dilation) * made.batch;
    const bool fits = tiles <= 96 && 36 * in * out >= 1 << 18 && (isForward ? out : in) > (blocked == Layout::nChw16c ? 64 : 16);
    try {
      devices.cpu->scratchBytes(kernel);
      if (!fits) fail(kernel, "it should be refused");
    } catch (const Failure&) {
      if (fits) fail(kernel, "it should not be refused");
      return;
    }
    Buffer found(made.elements(blocked) * sizeof(float));
    runTwice(kernel, operands, written, found);
    expectClose(kernel, "result", found, reordered(*devices.reference, made, expected, plain, blocked), winogradTolerance);
  };
  runFew(KernelKind::convolutionForward, {blockedX.operand(), stored.operand(), someBias, {}}, 3, destination, y);
  runFew(KernelKind::convolutionBackwardData, {blockedDy.operand(), stored.operand(), {}}, 2, source, dx);

  // In slices of channels of the result, image by image: the same bits.
  const auto runSlice = [&](KernelKind kind, Layout layout, const Buffer& whole) {
    const bool isForward = kind == KernelKind::convolutionForward;
    const std::int64_t channels = isForward ? out : in, first = 16 * draw(0, channels / 16 - 1),
                       count = 16 * draw(1, (channels - first) / 16);
    const std::int64_t slicedOut = isForward ? count : out, slicedIn = isForward ? in : count;
    Buffer sliced(static_cast<std::size_t>(weightElements(layout, slicedOut, slicedIn, 3, 3, 1)) * sizeof(float));
    runCpu(devices,
           {KernelKind::sliceWeights,
            {real(slicedOut), real(slicedIn), 3, 3, 1, code(read), code(layout), real(out), real(in), isForward ? real(first) : 0,
             isForward ? 0 : real(first)}},
           {stored.operand(), sliced.operand()});
    const ConvolutionCase one{windowFields(1, slicedIn, rows, columns), slicedOut, 1, test.slope};
    const Kernel kernel = one.kernel(kind, blocked, blocked, layout, 1);
    const Shape &made = isForward ? destination : source, &given = isForward ? source : destination;
    const std::int64_t pixels = made.height * made.width, image = draw(0, c.batch - 1);
    Buffer found(static_cast<std::size_t>(count * pixels) * sizeof(float));
    const Buffer scratch(devices.cpu->scratchBytes(kernel));
    const auto at = [](const Buffer& buffer, std::int64_t place) {
      Operand operand = buffer.operand();
      operand.address += place * static_cast<std::int64_t>(sizeof(float));
      return operand;
    };
    std::vector<Operand> operands{at(isForward ? blockedX : blockedDy, image * given.channels * given.height * given.width),
                                  sliced.operand()};
    if (isForward) operands.push_back(someBias.address == nullptr ? someBias : at(bias, first));
    operands.push_back(found.operand());
    operands.push_back(scratch.operand());
    runCpu(devices, kernel, operands);
    if (std::memcmp(found.data(), whole.data() + (image * channels + first) * pixels, found.size() * sizeof(float)) != 0)
      fail(kernel, "a slice of its result has other bits");
  };
  runSlice(KernelKind::convolutionForward, forwardLayout, foundY);
  runSlice(KernelKind::convolutionBackwardData, backwardLayout, foundDx);

  Buffer dw(w.size() * sizeof(float)), db(bias.size() * sizeof(float)), foundDw(stored.size() * sizeof(float)),
      foundDb(db.size() * sizeof(float));
  run(*devices.reference, test.kernel(KernelKind::convolutionBackwardWeights, plain, plain, plain),
      {x.operand(), dy.operand(), dw.operand(), db.operand(), {}});
  const Kernel weights = test.kernel(KernelKind::convolutionBackwardWeights, blocked, blocked, read, 1);
  runTwice(weights, {blockedX.operand(), blockedDy.operand(), {}, someBias.address == nullptr ? Operand{} : foundDb.operand()}, 2, foundDw);
  expectClose(weights, "weightGradient", foundDw, toLayout(dw, plain, read), winogradTolerance);
  if (someBias.address != nullptr) expectClose(weights, "biasGradient", foundDb, db);
}

// A weight gradient over so many tiles that several runs make each part of the sum, of numbers that
// do not cancel.
void testLongSums(Devices& devices) {
  const auto plain = Layout::plain, blocked = devices.cpu->activationLayout(64, false);
  const std::int64_t channels = 16, extent = 768, weightCount = channels * channels * 9;
  const Axis axis{extent, extent, 3, 1, 1, 1, 1};
  const ConvolutionCase test{windowFields(1, channels, axis, axis), channels, 1};
  const Shape shape{1, channels, extent, extent};
  const auto positive = [&] {
    Buffer buffer = random(shape.elements(plain));
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer.data()[i] = std::fabs(buffer.data()[i]);
    return buffer;
  };
  const Buffer x = positive(), dy = positive();
  Buffer dw(weightCount * sizeof(float)), db(channels * sizeof(float)), found(dw.size() * sizeof(float)),
      foundDb(db.size() * sizeof(float));
  run(*devices.reference, test.kernel(KernelKind::convolutionBackwardWeights, plain, plain, plain),
      {x.operand(), dy.operand(), dw.operand(), db.operand(), {}});
  const Kernel kernel = test.kernel(KernelKind::convolutionBackwardWeights, blocked, blocked, plain, 1);
  const Buffer scratch(devices.cpu->scratchBytes(kernel));
  runCpu(devices, kernel,
         {reordered(*devices.cpu, shape, x, plain, blocked).operand(), reordered(*devices.cpu, shape, dy, plain, blocked).operand(),
          found.operand(), foundDb.operand(), scratch.operand()});
  expectClose(kernel, "weightGradient", found, dw, 5e-7);
  expectClose(kernel, "biasGradient", foundDb, db, 5e-7);
}

// Of plain sources and of blocks, which have loops of our own: sums so long that oneDNN's would
// keep four digits, wide windows, rows that are dilated or outside. The same bits for any number of
// threads.
void testLongDirectSums(Devices& devices, Devices& otherThreads) {
  const auto plain = Layout::plain, blocked = devices.cpu->activationLayout(64, false);
  const auto axis = [](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t before) {
    const std::int64_t after = before == 0 ? 0 : before - 1;
    return Axis{in, (in + before + after - (kernel - 1) * dilation - 1) / stride + 1, kernel, stride, dilation, before, after};
  };
  const auto test = [&](std::int64_t batch, std::int64_t in, std::int64_t out, const Axis& rows, const Axis& columns) {
    const ConvolutionCase convolution{windowFields(batch, in, rows, columns), out, 1};
    const Shape source{batch, in, rows.in, columns.in}, destination{batch, out, rows.out, columns.out};
    Buffer x = random(source.elements(plain)), dy = random(destination.elements(plain));
    for (Buffer* buffer : {&x, &dy})
      for (std::size_t i = 0; i < buffer->size(); ++i) buffer->data()[i] = std::fabs(buffer->data()[i]);
    const Layout read = in < 16 ? plain : blocked;
    const std::int64_t weightCount = in * out * rows.kernel * columns.kernel;
    Buffer dw(weightCount * sizeof(float)), db(out * sizeof(float));
    run(*devices.reference, convolution.kernel(KernelKind::convolutionBackwardWeights, plain, plain, plain),
        {x.operand(), dy.operand(), dw.operand(), db.operand(), {}});
    const Buffer readX = reordered(*devices.cpu, source, x, plain, read);
    const Buffer blockedDy = reordered(*devices.cpu, destination, dy, plain, blocked);
    const auto layout = devices.cpu->weightLayouts(convolution.kernel(KernelKind::convolutionForward, read, blocked, plain)).forward;
    const Kernel kernel = convolution.kernel(KernelKind::convolutionBackwardWeights, read, blocked, layout);
    const auto gradientOf = [&](Devices& of) {
      Buffer found(static_cast<std::size_t>(weightElements(layout, out, in, rows.kernel, columns.kernel, 1)) * sizeof(float));
      Buffer foundDb(db.size() * sizeof(float));
      const Buffer scratch(of.cpu->scratchBytes(kernel));
      runCpu(of, kernel, {readX.operand(), blockedDy.operand(), found.operand(), foundDb.operand(), scratch.operand()});
      return std::pair(std::move(found), std::move(foundDb));
    };
    const auto [found, foundDb] = gradientOf(devices);
    const Buffer again = gradientOf(otherThreads).first;
    Buffer expected(found.size() * sizeof(float));
    run(*devices.cpu,
        {KernelKind::reorderWeights, {real(out), real(in), real(rows.kernel), real(columns.kernel), 1, code(plain), code(layout)}},
        {dw.operand(), expected.operand()});
    // One unit in the last place of each, since rounding may part sums that differ by less.
    const double unit = std::numeric_limits<float>::epsilon();
    expectClose(kernel, "weightGradient", found, expected, unit);
    expectClose(kernel, "biasGradient", foundDb, db, unit);
    if (std::memcmp(found.data(), again.data(), found.size() * sizeof(float)) != 0)
      fail(kernel, "its result depends on the number of threads");
  };
  const Axis stem = axis(1024, 7, 2, 1, 3);
  test(1, 3, 2, stem, stem);
  test(2, 3, 17, axis(70, 3, 1, 1, 1), axis(60, 3, 1, 1, 1));
  test(2, 1, 20, axis(90, 5, 1, 2, 6), axis(75, 9, 1, 1, 9));
  test(3, 2, 5, axis(80, 4, 3, 1, 0), axis(301, 11, 4, 1, 2));
  test(1, 3, 40, axis(300, 1, 1, 1, 0), axis(300, 1, 1, 1, 0));
  test(1, 2, 33, axis(9, 2, 1, 1, 0), axis(600, 6, 1, 1, 2));
  test(1, 40, 72, axis(260, 3, 2, 1, 1), axis(200, 3, 2, 1, 1));
  test(2, 32, 16, axis(80, 3, 1, 24, 24), axis(80, 3, 1, 24, 24));
  test(1, 130, 130, axis(130, 3, 2, 1, 1), axis(65, 2, 1, 1, 0));
  test(1, 16, 33, axis(200, 5, 3, 1, 0), axis(301, 2, 1, 1, 0));
}

Buffer randomBf16(std::int64_t count) {
  const Buffer floats = random(count), buffer(static_cast<std::size_t>(count) * sizeof(Bfloat16));
  for (std::int64_t i = 0; i < count; ++i) reinterpret_cast<Bfloat16*>(buffer.data())[i] = Bfloat16(floats.data()[i]);
  return buffer;
}

Buffer toFloats(const Buffer& bf16) {
  const auto* from = reinterpret_cast<const Bfloat16*>(bf16.data());
  const Buffer floats(2 * bf16.size() * sizeof(float));
  for (std::size_t i = 0; i < floats.size(); ++i) floats.data()[i] = static_cast<float>(from[i]);
  return floats;
}

// Sums that differ in their last digits seldom round differently: of few, one does.
double bf16Tolerance(const Shape& results) {
  return std::max(6e-4, 8e-3 / std::sqrt(static_cast<double>(results.elements(Layout::plain))));
}

// In bf16, summed in float: strips of rows and of parts of rows, odd widths, strides over rows,
// strides longer than a row, unread taps, taps far apart, images of one row each, more channels
// than are packed at once, and `cases` at random. Ours: the same bits for any number of threads.
void testBf16Convolutions(int threads, int otherThreads, std::int64_t cases) {
  const auto plain = Layout::plain;
  const auto cpu = makeCpuDevice(Precision::bf16, threads), other = makeCpuDevice(Precision::bf16, otherThreads);
  const auto reference = makeReferenceDevice(Precision::bf16);
  const auto blocked = cpu->activationLayout(64, false);
  const auto axis = [](std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t before,
                       std::int64_t after) {
    return Axis{in, (in + before + after - (kernel - 1) * dilation - 1) / stride + 1, kernel, stride, dilation, before, after};
  };
  const auto testGroups = [&](std::int64_t groups, std::int64_t batch, std::int64_t in, std::int64_t out, const Axis& rows,
                              const Axis& columns) {
    const ConvolutionCase convolution{windowFields(batch, in, rows, columns), out, groups, randomSlope()};
    const Shape source{batch, in, rows.in, columns.in}, destination{batch, out, rows.out, columns.out};
    const std::int64_t taps = rows.kernel * columns.kernel;
    const Buffer x = randomBf16(source.elements(plain)), dy = randomBf16(destination.elements(plain));
    const Buffer w = random(out * (in / groups) * taps), bias = random(out);
    const auto ofBlocks = [&](const Shape& s) { return Buffer(static_cast<std::size_t>(s.elements(blocked)) * sizeof(Bfloat16)); };
    const auto inBlocks = [&](const Shape& s, const Buffer& of) {
      Buffer result = ofBlocks(s);
      run(*cpu,
          {KernelKind::reorderActivation, {real(s.batch), real(s.channels), real(s.height), real(s.width), code(plain), code(blocked)}},
          {of.operand(), result.operand()});
      return result;
    };
    const auto inLayout = [&](KernelKind kind, const Buffer& weights, Layout layout) {
      Buffer result(static_cast<std::size_t>(weightElements(layout, out, in / groups, rows.kernel, columns.kernel, groups)) * sizeof(float));
      run(*cpu, {kind, {real(out), real(in), real(rows.kernel), real(columns.kernel), real(groups), code(plain), code(layout)}},
          {weights.operand(), result.operand()});
      return result;
    };
    // `result` is a cpu's, written to the operand of that place.
    const auto launch = [&](Device& device, const Kernel& kernel, std::vector<Operand> operands, std::size_t place, const Buffer& result) {
      const Buffer scratch(device.scratchBytes(kernel));
      operands[place] = result.operand();
      operands.push_back(scratch.operand());
      run(device, kernel, operands);
    };
    const auto check = [&](const Kernel& kernel, const std::vector<Operand>& operands, std::size_t place, const Buffer& found) {
      const std::string name = cpuImplementationName(Precision::bf16, kernel, threads);
      ++implementations["bf16 " + std::string(kernelInfo(kernel.kind).name) + " " + name];
      launch(*cpu, kernel, operands, place, found);
      const bool isOurs = name == "pairs" || name == "strips" || name == "amx" || name == "depthwise";
      if (!isOurs || name != cpuImplementationName(Precision::bf16, kernel, otherThreads)) return;
      const Buffer again(found.size() * sizeof(float));
      launch(*other, kernel, operands, place, again);
      if (std::memcmp(found.data(), again.data(), found.size() * sizeof(float)) != 0)
        fail(kernel, "its result depends on the number of threads");
    };
    const Buffer blockedX = inBlocks(source, x), blockedDy = inBlocks(destination, dy);
    const auto layouts = cpu->weightLayouts(convolution.kernel(KernelKind::convolutionForward, blocked, blocked, plain));
    const auto checkActivation = [&](const Kernel& kernel, const std::vector<Operand>& operands, std::size_t place, const Shape& shape,
                                     const Buffer& expected) {
      const Buffer found = ofBlocks(shape);
      check(kernel, operands, place, found);
      expectClose(kernel, "result", toFloats(found), toFloats(inBlocks(shape, expected)), bf16Tolerance(shape));
    };

    const Buffer plainW = inLayout(KernelKind::castWeights, w, plain), y(destination.elements(plain) * sizeof(Bfloat16)),
                 dx(source.elements(plain) * sizeof(Bfloat16));
    run(*reference, convolution.kernel(KernelKind::convolutionForward, plain, plain, plain),
        {x.operand(), plainW.operand(), bias.operand(), y.operand(), {}});
    checkActivation(convolution.kernel(KernelKind::convolutionForward, blocked, blocked, layouts.forward),
                    {blockedX.operand(), inLayout(KernelKind::castWeights, w, layouts.forward).operand(), bias.operand(), {}}, 3,
                    destination, y);
    run(*reference, convolution.kernel(KernelKind::convolutionBackwardData, plain, plain, plain),
        {dy.operand(), plainW.operand(), dx.operand(), {}});
    checkActivation(convolution.kernel(KernelKind::convolutionBackwardData, blocked, blocked, layouts.backwardData),
                    {blockedDy.operand(), inLayout(KernelKind::castWeights, w, layouts.backwardData).operand(), {}}, 2, source, dx);

    const Buffer dw(w.size() * sizeof(float)), db(bias.size() * sizeof(float)), foundDb(db.size() * sizeof(float));
    run(*reference, convolution.kernel(KernelKind::convolutionBackwardWeights, plain, plain, plain),
        {x.operand(), dy.operand(), dw.operand(), db.operand(), {}});
    const Kernel gradient = convolution.kernel(KernelKind::convolutionBackwardWeights, blocked, blocked, layouts.stored);
    const Buffer expected = inLayout(KernelKind::reorderWeights, dw, layouts.stored), found(expected.size() * sizeof(float));
    check(gradient, {blockedX.operand(), blockedDy.operand(), {}, foundDb.operand()}, 2, found);
    expectClose(gradient, "weightGradient", found, expected);
    expectClose(gradient, "biasGradient", foundDb, db);
  };
  const auto test = [&](std::int64_t batch, std::int64_t in, std::int64_t out, const Axis& rows, const Axis& columns) {
    testGroups(1, batch, in, out, rows, columns);
  };
  for (const std::int64_t channels : {40, 300}) {
    testGroups(channels, 1, channels, channels, axis(65, 3, 1, 1, 1, 1), axis(67, 3, 1, 1, 1, 1));
    testGroups(channels, 2, channels, channels, axis(9, 7, 2, 1, 3, 3), axis(290, 9, 1, 2, 8, 8));
  }
  test(1, 64, 48, axis(65, 3, 2, 1, 1, 1), axis(67, 3, 2, 1, 1, 1));
  test(2, 53, 48, axis(6, 3, 2, 1, 1, 0), axis(1, 3, 2, 1, 1, 1));
  test(1, 16, 32, axis(5, 2, 1, 1, 1, 0), axis(2, 5, 3, 1, 2, 2));
  test(2, 60, 130, axis(20, 1, 1, 1, 0, 0), axis(21, 1, 1, 1, 0, 0));
  test(5, 64, 64, axis(7, 1, 1, 1, 0, 0), axis(7, 1, 1, 1, 0, 0));
  test(3, 64, 100, axis(33, 1, 2, 1, 0, 0), axis(34, 1, 2, 1, 0, 0));
  test(1, 96, 64, axis(25, 3, 1, 12, 12, 12), axis(25, 3, 1, 36, 36, 36));
  test(1, 70, 64, axis(4, 5, 1, 1, 2, 1), axis(1201, 7, 1, 1, 3, 4));
  test(2, 64, 64, axis(23, 3, 3, 2, 0, 2), axis(40, 2, 1, 1, 1, 0));
  test(1, 64, 350, axis(2, 4, 1, 1, 3, 3), axis(150, 1, 1, 1, 0, 0));
  test(2, 64, 80, axis(40, 3, 1, 24, 24, 24), axis(50, 3, 1, 18, 18, 18));
  test(1, 272, 144, axis(15, 3, 1, 12, 12, 12), axis(31, 3, 1, 12, 12, 12));
  test(1, 144, 272, axis(15, 3, 1, 12, 12, 12), axis(31, 3, 1, 24, 24, 24));
  test(1, 64, 64, axis(25, 3, 2, 19, 19, 19), axis(500, 3, 1, 1, 1, 1));
  test(1, 64, 64, axis(30, 3, 2, 20, 20, 20), axis(300, 3, 1, 9, 9, 9));
  test(1, 6200, 16, axis(2, 1, 1, 1, 0, 0), axis(32, 1, 1, 1, 0, 0));
  test(1, 16, 4200, axis(5, 1, 2, 1, 0, 0), axis(120, 2, 2, 1, 1, 1));
  test(1, 4100, 32, axis(4, 1, 1, 1, 0, 0), axis(4, 2, 1, 12, 12, 12));
  test(1, 16, 16, axis(4, 1, 1, 1, 0, 0), axis(1, 1, 1, 1, 0, 300));
  test(1, 64, 64, axis(8, 2, 1, 1, 0, 0), axis(8, 2, 1, std::int64_t{1} << 20, std::int64_t{1} << 20, 3));
  for (std::int64_t i = 0; i < cases; ++i) {
    const auto drawn = [] {
      const std::int64_t kernel = pick<std::int64_t>({1, 1, 2, 3, 3, 5}), dilation = pick<std::int64_t>({1, 1, 2, 12});
      return randomAxis(kernel, pick<std::int64_t>({1, 1, 2, 3}), dilation,
                        pick<std::int64_t>({0, 1, kernel / 2 * dilation, kernel * dilation + 1}));
    };
    const std::int64_t in = pick<std::int64_t>({16, 33, 64, 100}), out = pick<std::int64_t>({16, 48, 70});
    test(draw(1, 3), in, out, drawn(), drawn());
  }
  std::vector<std::string> ours;
  if (cpu::multipliesPairs()) ours = {"convolutionForward strips", "convolutionBackwardData strips", "convolutionBackwardWeights pairs"};
  if (cpu::multipliesMatrices()) ours = {"convolutionForward amx", "convolutionBackwardData amx", "convolutionBackwardWeights amx"};
  for (const std::string& name : ours)
    if (implementations["bf16 " + name] == 0) {
      std::printf("FAILED: no bf16 %s\n", name.c_str());
      ++failures;
    }
}

// What is not finite reaches the same results of bf16 for any number of threads.
void testBf16Infinities(int threads, int otherThreads) {
  const auto cpu = makeCpuDevice(Precision::bf16, threads), other = makeCpuDevice(Precision::bf16, otherThreads);
  const auto blocked = cpu->activationLayout(64, false);
  const Axis rows{1, 1, 1, 1, 1, 0, 0}, columns{100, 100, 3, 1, 40, 40, 40};
  const std::int64_t in = 48, out = 64, taps = 3;
  const ConvolutionCase convolution{windowFields(1, in, rows, columns), out, 1};
  const auto layouts = cpu->weightLayouts(convolution.kernel(KernelKind::convolutionForward, blocked, blocked, Layout::plain));
  Buffer plainWeights = random(out * in * taps);
  plainWeights.data()[2] = std::numeric_limits<float>::infinity();
  Buffer weights(static_cast<std::size_t>(weightElements(layouts.forward, out, in, 1, taps, 1)) * sizeof(float));
  run(*cpu, {KernelKind::castWeights, {real(out), real(in), 1, real(taps), 1, code(Layout::plain), code(layouts.forward)}},
      {plainWeights.operand(), weights.operand()});
  const Buffer x = randomBf16(in * 100), dy = randomBf16(out * 100), bias = random(out);
  reinterpret_cast<Bfloat16*>(dy.operand().address)[99 * channelBlock(blocked)] = std::numeric_limits<float>::quiet_NaN();
  const auto compare = [&](const Kernel& kernel, const std::vector<Operand>& operands, std::size_t place, std::size_t floats) {
    const auto launched = [&](Device& device) {
      Buffer result(floats * sizeof(float));
      const Buffer scratch(device.scratchBytes(kernel)), biasGradient(static_cast<std::size_t>(out) * sizeof(float));
      std::vector<Operand> all = operands;
      all[place] = result.operand();
      if (kernel.kind == KernelKind::convolutionBackwardWeights) all[3] = biasGradient.operand();
      all.push_back(scratch.operand());
      run(device, kernel, all);
      return result;
    };
    const Buffer found = launched(*cpu), again = launched(*other);
    if (std::memcmp(found.data(), again.data(), floats * sizeof(float)) != 0)
      fail(kernel, "what is not finite depends on the number of threads");
  };
  compare(convolution.kernel(KernelKind::convolutionForward, blocked, blocked, layouts.forward),
          {x.operand(), weights.operand(), bias.operand(), {}}, 3, static_cast<std::size_t>(out) * 100 / 2);
  compare(convolution.kernel(KernelKind::convolutionBackwardWeights, blocked, blocked, layouts.stored), {x.operand(), dy.operand(), {}, {}},
          2, static_cast<std::size_t>(weightElements(layouts.stored, out, in, 1, taps, 1)));
}

// In bf16, of images of few channels, one plane each.
void testBf16FewChannels(int threads, std::int64_t cases) {
  const auto plain = Layout::plain;
  const auto cpu = makeCpuDevice(Precision::bf16, threads), reference = makeReferenceDevice(Precision::bf16);
  const auto blocked = cpu->activationLayout(64, false);
  for (std::int64_t i = 0; i < cases; ++i) {
    const auto axis = [] {
      const std::int64_t kernel = pick<std::int64_t>({1, 3, 3, 5, 7});
      return randomAxis(kernel, pick<std::int64_t>({1, 1, 2, 4}), pick<std::int64_t>({1, 1, 1, 2}),
                        pick<std::int64_t>({0, 1, 3, kernel + 1}));
    };
    const Axis rows = axis(), columns = axis();
    const std::int64_t batch = draw(1, 2), in = pick<std::int64_t>({1, 2, 3, 3, 4}), out = pick<std::int64_t>({16, 20, 64});
    const ConvolutionCase convolution{windowFields(batch, in, rows, columns), out, 1, randomSlope()};
    const Shape source{batch, in, rows.in, columns.in}, destination{batch, out, rows.out, columns.out};
    const auto weightsIn = [&](Layout layout, const Buffer& w) {
      Buffer cast(static_cast<std::size_t>(weightElements(layout, out, in, rows.kernel, columns.kernel, 1)) * sizeof(float));
      run(*cpu, {KernelKind::castWeights, {real(out), real(in), real(rows.kernel), real(columns.kernel), 1, code(plain), code(layout)}},
          {w.operand(), cast.operand()});
      return cast;
    };
    const Buffer x = randomBf16(source.elements(plain)), w = random(out * in * rows.kernel * columns.kernel), bias = random(out);
    const auto layout = cpu->weightLayouts(convolution.kernel(KernelKind::convolutionForward, plain, blocked, plain)).forward;
    const Kernel kernel = convolution.kernel(KernelKind::convolutionForward, plain, blocked, layout);
    const auto bytes = [](std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(Bfloat16); };
    const Buffer found(bytes(destination.elements(blocked))), y(bytes(destination.elements(plain))),
        expected(bytes(destination.elements(blocked))), scratch(cpu->scratchBytes(kernel));
    ++implementations["bf16 of few channels " + cpuImplementationName(Precision::bf16, kernel, threads)];
    run(*cpu, kernel, {x.operand(), weightsIn(layout, w).operand(), bias.operand(), found.operand(), scratch.operand()});
    run(*reference, convolution.kernel(KernelKind::convolutionForward, plain, plain, plain),
        {x.operand(), weightsIn(plain, w).operand(), bias.operand(), y.operand(), {}});
    run(*cpu, {KernelKind::reorderActivation, {real(batch), real(out), real(rows.out), real(columns.out), code(plain), code(blocked)}},
        {y.operand(), expected.operand()});
    expectClose(kernel, "result", toFloats(found), toFloats(expected), bf16Tolerance(destination));
  }
}

// Weights so large that all threads work on one block of tiles, or that their gradient is summed in
// large chunks, and more tiles than a block has; against the direct kernels.
void testLargeWeights(Devices& devices) {
  const auto blocked = devices.cpu->activationLayout(64, false);
  const std::int64_t channels = 416;
  const Axis rows{40, 40, 3, 1, 1, 0, 2}, columns{46, 45, 3, 1, 1, 1, 0};
  const ConvolutionCase test{windowFields(1, channels, rows, columns), channels, 1};
  const Shape source{1, channels, rows.in, columns.in}, destination{1, channels, rows.out, columns.out};
  const auto layouts = devices.cpu->weightLayouts(test.kernel(KernelKind::convolutionForward, blocked, blocked, Layout::plain));
  const Buffer x = random(source.elements(blocked)), dy = random(destination.elements(blocked)), w = random(channels * channels * 9);
  const auto result = [&](KernelKind kind, Layout layout, double algorithm) {
    const bool forward = kind == KernelKind::convolutionForward;
    const Kernel kernel = test.kernel(kind, blocked, blocked, layout, algorithm);
    const Buffer weights(static_cast<std::size_t>(weightElements(layout, channels, channels, 3, 3, 1)) * sizeof(float)),
        found(static_cast<std::size_t>((forward ? destination : source).elements(blocked)) * sizeof(float)),
        scratch(devices.cpu->scratchBytes(kernel));
    runCpu(devices, {KernelKind::reorderWeights, {real(channels), real(channels), 3, 3, 1, code(Layout::plain), code(layout)}},
           {w.operand(), weights.operand()});
    std::vector<Operand> operands{(forward ? x : dy).operand(), weights.operand(), {}, found.operand(), scratch.operand()};
    if (!forward) operands.erase(operands.begin() + 2);
    runCpu(devices, kernel, operands);
    return std::pair(kernel, found);
  };
  const auto compare = [&](KernelKind kind, const char* operand, Layout direct, Layout transformed) {
    const auto [kernel, found] = result(kind, transformed, 1);
    expectClose(kernel, operand, found, result(kind, direct, 0).second, winogradTolerance);
  };
  compare(KernelKind::convolutionForward, "destination", layouts.forward, Layout::winogradForward);
  compare(KernelKind::convolutionBackwardData, "sourceGradient", layouts.backwardData, Layout::winogradBackward);

  const auto gradient = [&](double algorithm) {
    const Kernel kernel = test.kernel(KernelKind::convolutionBackwardWeights, blocked, blocked, layouts.forward, algorithm);
    const Buffer found(w.size() * sizeof(float)), foundBias(channels * sizeof(float)), scratch(devices.cpu->scratchBytes(kernel));
    runCpu(devices, kernel, {x.operand(), dy.operand(), found.operand(), foundBias.operand(), scratch.operand()});
    return std::tuple(kernel, found, foundBias);
  };
  const auto [kernel, found, foundBias] = gradient(1);
  const auto [direct, expected, expectedBias] = gradient(0);
  expectClose(kernel, "weightGradient", found, expected, winogradTolerance);
  expectClose(kernel, "biasGradient", foundBias, expectedBias, winogradTolerance);
}

// A result that is written past the caches has the bits of one that is not: two images at once, and
// each by itself, whose rows and columns end in smaller tiles.
void testLargeWinograd(Devices& devices) {
  const auto blocked = devices.cpu->activationLayout(64, false);
  const std::int64_t channels = 16;
  const Axis rows{523, 523, 3, 1, 1, 1, 1}, columns{509, 509, 3, 1, 1, 1, 1};
  const std::int64_t image = channels * rows.in * columns.in;
  constexpr auto least = cpu::leastStreamed / static_cast<std::int64_t>(sizeof(float));
  const Buffer x = random(2 * image), w = random(weightElements(Layout::winogradForward, channels, channels, 3, 3, 1)),
               bias = random(channels);
  const auto run = [&](std::int64_t batch, std::int64_t first) {
    const Kernel kernel = ConvolutionCase{windowFields(batch, channels, rows, columns), channels, 1, 0.25}.kernel(
        KernelKind::convolutionForward, blocked, blocked, Layout::winogradForward, 1);
    const Buffer found(static_cast<std::size_t>(batch * image) * sizeof(float)), scratch(devices.cpu->scratchBytes(kernel));
    const Operand source{x.operand().address + first * image * static_cast<std::int64_t>(sizeof(float)), 0};
    runCpu(devices, kernel, {source, w.operand(), bias.operand(), found.operand(), scratch.operand()});
    return std::pair(kernel, found);
  };
  const auto [kernel, both] = run(2, 0);
  if (image >= least || 2 * image < least) fail(kernel, "two images are to be streamed, and none by itself");
  for (const std::int64_t first : {0, 1})
    if (std::memcmp(both.data() + first * image, run(1, first).second.data(), static_cast<std::size_t>(image) * sizeof(float)) != 0)
      fail(kernel, "image " + std::to_string(first) + " has other bits than by itself");
}

void testMaxPool(Devices& devices) {
  const Axis rows = randomAxis(draw(1, 5), draw(1, 4), pick<std::int64_t>({1, 1, 1, 2}), 0),
             columns = randomAxis(draw(1, 5), draw(1, 4), 1, 0);
  // Padding up to what keeps every window on the input, at each side by itself: clipped tiles and
  // the overhang of ceilMode.
  const auto padded = [](Axis a) {
    a.before = draw(0, a.kernel - 1) * a.dilation;
    a.after = draw(0, a.kernel - 1);
    a.out = (a.in + a.before + a.after - (a.kernel - 1) * a.dilation - 1) / a.stride + 1;
    return a;
  };
  std::vector<double> fields = windowFields(draw(1, 2), pick<std::int64_t>({1, 3, 16, 40, 64}), padded(rows), padded(columns));
  fields.push_back(code(Layout::plain));
  const auto p = decode<Pool>(Kernel{KernelKind::maxPoolForward, fields});
  const Shape source{p.batch, p.inChannels, p.inHeight, p.inWidth}, destination{p.batch, p.inChannels, p.outHeight, p.outWidth};
  Buffer x = random(source.elements(Layout::plain));
  // Many equals: the first must win.
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = std::round(2 * x.data()[i]);
  if (draw(0, 3) == 0)
    // And NaN is passed on.
    for (std::size_t i = 0; i < x.size(); i += static_cast<std::size_t>(draw(1, 9))) x.data()[i] = std::nanf("");
  const Buffer dy = random(destination.elements(Layout::plain));
  const auto pool = [&](Device& device, Layout layout) {
    fields.back() = code(layout);
    const Kernel forward{KernelKind::maxPoolForward, fields}, backward{KernelKind::maxPoolBackward, fields};
    const Buffer input = reordered(device, source, x, Layout::plain, layout),
                 gradient = reordered(device, destination, dy, Layout::plain, layout);
    const Buffer indices(device.indicesBytes(forward));
    std::pair<Buffer, Buffer> result{Buffer(destination.elements(layout) * sizeof(float)), Buffer(source.elements(layout) * sizeof(float))};
    run(device, forward, {input.operand(), result.first.operand(), indices.operand()});
    run(device, backward, {gradient.operand(), indices.operand(), result.second.operand()});
    ++implementations["maxPool " +
                      (&device == devices.cpu.get() ? cpuImplementationName(Precision::float32, forward, devices.threads) : "oracle")];
    return result;
  };
  const auto expected = pool(*devices.reference, Layout::plain);
  const Layout layout = draw(0, 4) == 0 ? Layout::plain : devices.cpu->activationLayout(64, false);
  const auto found = pool(*devices.cpu, layout);
  const Kernel kernel{KernelKind::maxPoolForward, fields};
  expectActivation(devices, kernel, "destination", destination, layout, found.first, expected.first);
  expectActivation(devices, kernel, "sourceGradient", source, layout, found.second, expected.second);
}

// Statistics and sums over pieces of large tiles, of data far from zero: close to the reference,
// and the same bits for any number of threads.
void testNormalisation(Devices& devices, Devices& otherThreads) {
  const Shape shape{draw(1, 2), pick<std::int64_t>({1, 24, 40}), draw(1, 90), draw(1, 90)};
  const auto plain = Layout::plain, layout = pick({plain, Layout::nChw8c, Layout::nChw16c, Layout::nhwc});
  const std::int64_t groups = pick<std::int64_t>({1, shape.channels}), perImage = draw(0, 1), images = perImage == 1 ? shape.batch : 1;
  Buffer x = random(shape.elements(plain));
  for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] += 1000;
  const Buffer dy = random(shape.elements(plain)), weights = random(shape.channels), bias = random(shape.channels);
  const auto kernel = [&](KernelKind kind, Layout of, const std::vector<double>& more) {
    Kernel result{kind, {real(shape.batch), real(shape.channels), real(shape.height), real(shape.width), code(of)}};
    for (const double field : {real(groups), real(perImage)}) result.fields.push_back(field);
    result.fields.insert(result.fields.end(), more.begin(), more.end());
    return result;
  };
  using Doubles = std::vector<double>;
  const auto operand = [](Doubles& doubles) { return Operand{reinterpret_cast<std::byte*>(doubles.data()), 0}; };
  const auto compare = [&](KernelKind kind, const Doubles& zeroes, const std::vector<double>& more, const std::vector<Operand>& parameters,
                           bool withGradient) {
    const auto sum = [&](Device& device, Layout of) {
      Doubles result = zeroes;
      const Buffer source = reordered(device, shape, x, plain, of), gradient = reordered(device, shape, dy, plain, of);
      std::vector<Operand> operands{source.operand()};
      operands.insert(operands.end(), parameters.begin(), parameters.end());
      if (withGradient) operands.push_back(gradient.operand());
      operands.push_back(operand(result));
      run(device, kernel(kind, of, more), operands);
      return result;
    };
    const Doubles expected = sum(*devices.reference, plain), found = sum(*devices.cpu, layout), again = sum(*otherThreads.cpu, layout);
    const Kernel tested = kernel(kind, layout, more);
    if (std::memcmp(found.data(), again.data(), found.size() * sizeof(double)) != 0)
      fail(tested, "its result depends on the number of threads");
    for (std::size_t i = 0; i < found.size(); ++i)
      if (!(std::fabs(found[i] - expected[i]) <= (withGradient ? 1e-4 : 1e-9) * (1 + std::fabs(expected[i]))))
        fail(tested, "number " + std::to_string(i) + " is " + std::to_string(found[i]) + ", not " + std::to_string(expected[i]));
    return expected;
  };
  Doubles moments = compare(KernelKind::momentsForward, Doubles(static_cast<std::size_t>(3 * images * groups)), {}, {}, false);
  compare(KernelKind::normaliseBackwardReduce, Doubles(static_cast<std::size_t>(2 * images * shape.channels)), {1e-5, randomSlope()},
          {operand(moments), weights.operand(), bias.operand()}, true);
}

// Kernels on plain operands: the same launch on both devices, then every operand is compared.
void testPlain(Devices& devices, const Kernel& kernel, const std::vector<std::int64_t>& counts, const StepParameters& step = {}) {
  std::vector<Buffer> mine, theirs;
  for (const std::int64_t count : counts) {
    mine.push_back(count == 0 ? Buffer() : random(count));
    theirs.push_back(copyOf(mine.back()));
    if (kernel.kind == KernelKind::adam && mine.size() == 4)
      for (std::size_t i = 0; i < mine[3].size(); ++i) theirs[3].data()[i] = mine[3].data()[i] = std::fabs(mine[3].data()[i]);
  }
  const auto operands = [](const std::vector<Buffer>& buffers) {
    std::vector<Operand> result;
    for (const Buffer& buffer : buffers) result.push_back(buffer.operand());
    return result;
  };
  runCpu(devices, kernel, operands(mine), step);
  run(*devices.reference, kernel, operands(theirs), step);
  for (std::size_t i = 0; i < mine.size(); ++i) expectClose(kernel, kernelInfo(kernel.kind).operands[i].name, mine[i], theirs[i]);
}

// The sum of squares is the same bits for any number of threads and close to the reference; what it
// then clips is, too.
void testClipping(Devices& devices) {
  const std::int64_t count = draw(1, pick<std::int64_t>({40, 70000}));
  const Buffer gradient = random(count);
  const Kernel sum{KernelKind::sumSquares, {real(count)}};
  const double start = pick({0.0, 1.0});
  const auto operand = [](double& value) { return Operand{reinterpret_cast<std::byte*>(&value), 0}; };
  const auto sumOn = [&](Device& device) {
    double squares = start;
    run(device, sum, {gradient.operand(), operand(squares)});
    return squares;
  };
  double expected = sumOn(*devices.reference), found = start;
  runCpu(devices, sum, {gradient.operand(), operand(found)});
  if (!(std::fabs(found - expected) <= 1e-13 * expected)) fail(sum, "sum differs: " + std::to_string(found - expected));
  for (const int threads : {1, 2, 3})
    if (sumOn(*makeCpuDevice(Precision::float32, threads)) != found) fail(sum, "another sum with " + std::to_string(threads) + " threads");
  // Below the norm, above it, and a norm that is no number.
  const double maxNorm = pick({0.5, 2.0}) * std::sqrt(expected);
  if (draw(0, 4) == 0) expected = std::nan("");
  const Kernel clip{KernelKind::clipGradient, {real(count), maxNorm}};
  const Buffer mine = copyOf(gradient), theirs = copyOf(gradient);
  runCpu(devices, clip, {operand(expected), mine.operand()});
  run(*devices.reference, clip, {operand(expected), theirs.operand()});
  expectClose(clip, "gradient", mine, theirs, 1e-7);
}

void testPlainKernels(Devices& devices) {
  const std::int64_t count = draw(1, pick<std::int64_t>({40, 70000}));
  const double slope = pick({0.0, 0.1});
  testPlain(devices, {KernelKind::rectifierForward, {real(count), slope}}, {count, count});
  testPlain(devices, {KernelKind::rectifierBackward, {real(count), slope}}, {count, count, count});
  StepParameters step;
  step.learningRate = 0.01;
  step.step = static_cast<std::uint64_t>(draw(0, 3));
  const double momentum = pick({0.0, 0.9}), decay = pick({0.0, 1e-2}), rate = pick({0.0, 1.0, 0.3});
  testPlain(devices, {KernelKind::sgd, {real(count), rate, decay, momentum}}, {count, count, momentum == 0 ? 0 : count}, step);
  testPlain(devices, {KernelKind::adam, {real(count), rate, decay, 0.9, 0.999, 1e-8, pick({0.0, 1.0})}}, {count, count, count, count},
            step);
  testPlain(devices, {KernelKind::zero, {real(4 * count)}}, {count});

  const std::int64_t batch = draw(1, pick<std::int64_t>({4, 40})), in = draw(1, 3000), out = draw(1, 70);
  const std::vector<double> linear{real(batch), real(in), real(out)};
  const std::int64_t bias = draw(0, 1) * out;
  testPlain(devices, {KernelKind::linearForward, linear}, {batch * in, out * in, bias, batch * out});
  testPlain(devices, {KernelKind::linearBackwardData, linear}, {batch * out, out * in, batch * in});
  testPlain(devices, {KernelKind::linearBackwardWeights, linear}, {batch * in, batch * out, out * in, bias});

  const std::int64_t n0 = draw(1, 2), n1 = draw(1, 3), n2 = draw(1, 5), n3 = draw(1, pick<std::int64_t>({20, 40000})),
                     wide = n3 + draw(0, 5);
  testPlain(devices,
            {KernelKind::copyBox,
             {real(n0), real(n1), real(n2), real(n3), real(n1 * n2 * n3), real(n2 * n3), real(n3), real(n1 * n2 * wide), real(n2 * wide),
              real(wide), pick({0.0, 1.0}), 0}},
            {n0 * n1 * n2 * n3, n0 * n1 * n2 * wide});
  const std::int64_t summands = draw(1, 9), apart = n1 * n2 * n3 + draw(0, 5);
  testPlain(devices,
            {KernelKind::copyBox,
             {real(summands), real(n1), real(n2), real(n3), real(apart), real(n2 * n3), real(n3), 0, real(n2 * wide), real(wide), 1, 1}},
            {summands * apart, n1 * n2 * wide});
}

// Which elements are kept, and what of them, to the bit.
void testDropout(Devices& devices) {
  const Layout blocked = devices.cpu->activationLayout(64, false);
  const Shape s{draw(1, 2), draw(1, 40), draw(1, 5), draw(1, 9)};
  const Kernel kernel{KernelKind::dropout,
                      {real(s.batch), real(s.channels), real(s.height), real(s.width), code(blocked), real(s.channels), real(s.height + 2),
                       real(s.width + 3), real(draw(0, 1000)), pick({0.0, 0.1, 0.5, 0.9})}};
  StepParameters step;
  step.seed = static_cast<std::uint64_t>(draw(0, 1000));
  step.step = static_cast<std::uint64_t>(draw(0, 1000));
  const std::int64_t row = draw(0, 2), column = draw(0, 3);
  for (const Precision precision : {Precision::float32, Precision::bf16}) {
    const auto bytes = static_cast<std::size_t>(s.elements(blocked)) * (precision == Precision::bf16 ? 2 : 4);
    const Buffer source = random(static_cast<std::int64_t>(bytes + 3) / 4), found(bytes), expected(bytes);
    const auto dropped = [&](Device& device, const Buffer& destination) {
      run(device, kernel, {source.operand(), destination.operand(), {nullptr, 0}, {nullptr, row}, {nullptr, column}}, step);
    };
    dropped(*makeCpuDevice(precision, devices.threads), found);
    dropped(*makeReferenceDevice(precision), expected);
    if (std::memcmp(found.data(), expected.data(), bytes) != 0) fail(kernel, "other bits than the reference's");
  }
}

}  // namespace

int main(int count, char** arguments) {
  const auto argument = [&](int i, std::int64_t otherwise) { return count > i ? std::strtoll(arguments[i], nullptr, 10) : otherwise; };
  const std::int64_t cases = argument(1, 300);
  generator().seed(static_cast<std::uint64_t>(argument(2, 1)));
  const std::string only = count > 4 ? arguments[4] : "";
  if (only == "avx2") dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  if (only == "sse41") dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
  Devices devices(static_cast<int>(argument(3, 2)));
  Devices otherThreads(devices.threads == 1 ? 3 : 1);
  testBf16Convolutions(devices.threads, otherThreads.threads, cases);
  testBf16Infinities(devices.threads, otherThreads.threads);
  testBf16FewChannels(devices.threads, cases);
  if (only != "bf16") {
    if (devices.cpu->activationLayout(64, false) == Layout::nChw16c) {
      testCompiledByLibrary(devices);
      testLargeImages(devices.threads);
    }
    testNotANumber(devices);
    testNetworkShapes(devices);
    testLongSums(devices);
    testLongDirectSums(devices, otherThreads);
    testLargeWeights(devices);
    testLargeWinograd(devices);
    for (std::int64_t i = 0; i < cases && failures < 10; ++i) {
      testConvolution(devices, randomConvolution());
      testWinograd(devices, otherThreads);
      testMaxPool(devices);
      testNormalisation(devices, otherThreads);
      testPlainKernels(devices);
      testClipping(devices);
      testDropout(devices);
    }
  }
  for (const auto& [name, times] : implementations) std::printf("%6d %s\n", times, name.c_str());
  std::printf(failures == 0 ? "all agree\n" : "%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
