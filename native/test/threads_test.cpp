// Sessions driven from several threads, for ThreadSanitizer: engines, events, interrupts, failures,
// and closing while a section runs. Built without OpenMP, for ThreadSanitizer cannot see how
// libgomp's threads wait for each other, and with the kernels alone that are launched here.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "devices.hpp"
#include "interpreter/session.hpp"
#include "kernels/kernel_fields.hpp"
#include "reference/families.hpp"
#include "reference/pooling.hpp"

namespace tilefold {
namespace {

// Of the reference device so many kernels as the program below needs.
class FewKernels : public Device {
 public:
  Precision precision() const override { return Precision::float64; }
  std::unique_ptr<CompiledKernel> compile(const Kernel& kernel) override {
    using namespace reference;
    for (const auto compileFamily : {compileImage<double>, compileMovement<double>, compilePooling<double>})
      if (auto compiled = compileFamily(kernel)) return compiled;
    throw Failure(std::string("there is no kernel ") + kernelInfo(kernel.kind).name);
  }
  std::size_t scratchBytes(const Kernel&) override { return 0; }
  std::size_t indicesBytes(const Kernel& kernel) override { return reference::indicesBytes(decode<Pool>(kernel)); }
  Layout activationLayout(std::int64_t, bool) override { return Layout::plain; }
  WeightLayouts weightLayouts(const Kernel&) override { return {Layout::plain, Layout::plain, Layout::plain}; }
};

}  // namespace

std::unique_ptr<Device> makeDevice(const DeviceChoice&) { return std::make_unique<FewKernels>(); }

}  // namespace tilefold

namespace tilefold::test {
namespace {

using Numbers = std::vector<double>;

constexpr double compute = 0, toDevice = 1, toHost = 2, turns = 50;

Numbers operator+(Numbers left, const Numbers& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Numbers record(double engine, double event) { return {4, engine, event}; }
Numbers wait(double engine, double event) { return {5, engine, event}; }
// Eight bytes of the arena and of the host pool, there `stride` bytes further at each turn.
Numbers copy(double engine, double arena, double host, double stride) {
  return {3, engine, 1, 8, 8, 8, arena, 0, 0, 0, host, 0, stride, 0};
}
Numbers loop(double count, const Numbers& body) { return Numbers{2, 1, count, static_cast<double>(body.size())} + body; }

double codeOf(KernelKind kind) { return static_cast<double>(static_cast<int>(kind)); }

// Kernel 0 copies a number; kernel 1 reads a winner, which may be none; kernel 2 loads a pixel.
Numbers launchCopy(const Numbers& from, const Numbers& to) { return Numbers{1, 0, 2} + from + to; }

EncodedProgram program() {
  const Numbers in{2, 0, 0, 8, 0}, place{1, 0, 0, 0, 0}, other{1, 8, 0, 0, 0}, out{2, 8 * turns, 0, 8, 0};
  // Each turn's number goes through one place of the arena to the host, and through another one
  // back.
  const Numbers through = launchCopy(in, place) + record(compute, 0) + wait(toHost, 0) + copy(toHost, 0, 0, 8) + record(toHost, 1) +
                          wait(toDevice, 1) + copy(toDevice, 8, 0, 8) + record(toDevice, 2) + wait(compute, 2) + launchCopy(other, out);
  // All three engines at once, until somebody ends them.
  const Numbers copying = loop(0x1p30, copy(toHost, 0, 0, 0)) + loop(0x1p30, copy(toDevice, 8, 8, 0));
  const Numbers endless = copying + loop(0x1p30, launchCopy({1, 16, 0, 0, 0}, {1, 24, 0, 0, 0}));
  const Numbers failing = copying + Numbers{1, 1, 3, 1, 16, 0, 0, 0, 2, 0, 0, 0, 0, 1, 24, 0, 0, 0};
  // Each turn's pixel is loaded to the same place while the one before is on its way out of
  // another.
  const Numbers load = Numbers{6, 2, 4} + place + Numbers{3, 0, 0, 0, 0, 3, 0, 0, 1, 0, 3, 0, 0, 0, 0};
  const Numbers loads =
      record(compute, 0) + loop(turns, wait(toDevice, 0) + load + record(toDevice, 1) + wait(compute, 1) + launchCopy(place, other) +
                                           record(compute, 0) + launchCopy(other, {2, 0, 0, 8, 0}));
  EncodedProgram encoded;
  encoded.arenaBytes = encoded.peakBytes = 64;
  encoded.hostBytes = 8 * turns;
  encoded.input = {1, 1, turns, 1};
  encoded.kernels = Numbers{codeOf(KernelKind::copyBox), 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0} +
                    Numbers{codeOf(KernelKind::maxPoolBackward), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0} +
                    Numbers{codeOf(KernelKind::loadImage), 1, 1, 1, 1, 0, turns, 1, 2, 0, 1.0 / 255};
  encoded.workspaces = Numbers(3, 0x1p46);
  encoded.sections = {
      {"through", loop(turns, through), 16 * turns}, {"endless", endless, 0}, {"failing", failing, 8}, {"loads", loads, 8 * turns}};
  return encoded;
}

int failures = 0;

void expect(bool truth, const char* what) {
  if (truth) return;
  ++failures;
  std::printf("threads: %s\n", what);
}

std::optional<double> run(Session& session, const std::string& section, std::vector<double>& stepIo, const StepParameters& step = {}) {
  return session.run(section, reinterpret_cast<std::byte*>(stepIo.data()), stepIo.size() * sizeof(double), step);
}

void numbersPassThrough(Session& session) {
  std::vector<double> stepIo(static_cast<std::size_t>(2 * turns));
  for (std::size_t i = 0; i < stepIo.size() / 2; ++i) stepIo[i] = static_cast<double>(i) + 0.5;
  session.begin();
  expect(run(session, "through", stepIo).has_value(), "a section did not finish");
  expect(std::equal(stepIo.begin(), stepIo.begin() + stepIo.size() / 2, stepIo.begin() + stepIo.size() / 2),
         "numbers did not pass through the host");
  expect(session.measuredHostPeakBytes() == static_cast<std::size_t>(8 * turns), "the host pool's peak is wrong");
}

void pixelsAreLoaded(Session& session) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(turns));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(5 * i);
  StepParameters step;
  Image image;
  image.pixels = pixels.data();
  image.height = static_cast<std::int64_t>(pixels.size());
  image.width = image.channels = 1;
  step.images = {image};
  std::vector<double> stepIo(pixels.size());
  session.begin();
  expect(run(session, "loads", stepIo, step).has_value(), "a section that loads did not finish");
  bool same = true;
  for (std::size_t i = 0; i < pixels.size(); ++i) same = same && std::abs(stepIo[i] - pixels[i]) < 1e-9;
  expect(same, "pixels were overwritten before they were read, or read before they were loaded");
}

void anyThreadInterrupts(Session& session) {
  std::vector<double> none;
  session.begin();
  std::thread first([&] { session.interrupt(); }), second([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    session.interrupt();
  });
  expect(!run(session, "endless", none).has_value(), "an interrupted section finished");
  first.join();
  second.join();
}

void aFailureEndsAllEngines(Session& session) {
  std::vector<double> stepIo(1);
  const std::int32_t wild = 1 << 20;
  std::memcpy(stepIo.data(), &wild, sizeof(wild));
  session.begin();
  bool failed = false;
  try {
    run(session, "failing", stepIo);
  } catch (const Failure&) {
    failed = true;
  }
  expect(failed, "a wild winner was taken");
}

void oneSectionAtATime(Session& session) {
  std::vector<double> none;
  session.begin();
  bool refused = false;
  std::thread other([&] {
    try {
      session.begin();
    } catch (const Failure&) {
      refused = true;
    }
    session.interrupt();
  });
  run(session, "endless", none);
  other.join();
  expect(refused, "a second section began beside the first");
}

}  // namespace
}  // namespace tilefold::test

int main() {
  using namespace tilefold;
  using namespace tilefold::test;
  const DeviceChoice choice{"reference", Precision::float64, 1};
  for (const double rate : {0.0, 1e9}) {
    Session session(choice, program(), rate, Measuring{true, false});
    for (int round = 0; round < 5; ++round) {
      numbersPassThrough(session);
      pixelsAreLoaded(session);
      anyThreadInterrupts(session);
      aFailureEndsAllEngines(session);
      oneSectionAtATime(session);
    }
  }
  {
    // Closing: the destructor runs while a section is under way on another thread.
    auto session = std::make_shared<Session>(choice, program(), 1.0);
    session->begin();
    std::thread running([session] {
      std::vector<double> none;
      expect(!run(*session, "endless", none).has_value(), "a closed section finished");
    });
    session->interrupt();
    session.reset();
    running.join();
  }
  std::printf("threads: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
