// The scheduling of a cuda device without a GPU: programs on its streams, events and graphs,
// against the emulated CUDA (emulated_cuda/runtime.hpp).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "cuda/card_rates.hpp"
#include "cuda/convolution/warpgroup_gradient.hpp"
#include "cuda/cuda_device.hpp"
#include "cuda/cuda_engines.hpp"
#include "cuda/launching/stream.hpp"
#include "cuda/libraries/shared_library.hpp"
#include "cuda/memory/memory.hpp"
#include "cuda/memory/step_input.hpp"
#include "emulated_cuda/runtime.hpp"
#include "fake_gpu.hpp"
#include "interpreter/interpreter.hpp"
#include "interpreter/time_kernel.hpp"
#include "kernels/kernel_fields.hpp"
#include "memory/arena.hpp"
#include "reference/device.hpp"

namespace tilefold::test {

int smallLaunches();  // small_launches_test.cpp
int fusedLaunches();  // fused_launches_test.cpp

namespace {

using Numbers = std::vector<double>;

int failures = 0;

void expect(bool truth, const char* what) {
  if (truth) return;
  ++failures;
  std::printf("cuda engines: %s\n", what);
}

Numbers operator+(Numbers left, const Numbers& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

constexpr double compute = 0, toDevice = 1, toHost = 2, turns = imageRows;

Numbers record(double engine, double event) { return {4, engine, event}; }
Numbers wait(double engine, double event) { return {5, engine, event}; }
Numbers copy(double engine, double arena, double host) { return {3, engine, 1, 8, 8, 8, arena, 0, 0, 0, host, 0, 8, 0}; }
Numbers loop(double count, const Numbers& body) { return Numbers{2, 1, count, static_cast<double>(body.size())} + body; }
double codeOf(KernelKind kind) { return static_cast<double>(static_cast<int>(kind)); }
Numbers launch(double kernel, const Numbers& from, const Numbers& to) { return Numbers{1, kernel, 2} + from + to; }

// Kernel 0 copies a number, 1 is a step of SGD, 2 reads a winner, 3 loads a pixel.
EncodedProgram program() {
  const Numbers in{2, 0, 0, 8, 0}, place{1, 0, 0, 0, 0}, other{1, 8, 0, 0, 0}, out{2, 8 * turns, 0, 8, 0};
  // Each turn's number goes through one place of the arena to the host, and through another one
  // back.
  const Numbers through = launch(0, in, place) + record(compute, 0) + wait(toHost, 0) + copy(toHost, 0, 0) + record(toHost, 1) +
                          wait(toDevice, 1) + copy(toDevice, 8, 0) + record(toDevice, 2) + wait(compute, 2) + launch(0, other, out);
  const Numbers none{0, 0, 0, 0, 0};
  const Numbers update = launch(0, {2, 0, 0, 0, 0}, {1, 16, 0, 0, 0}) + launch(0, {2, 8, 0, 0, 0}, {1, 24, 0, 0, 0}) +
                         Numbers{1, 1, 3, 1, 16, 0, 0, 0, 1, 24, 0, 0, 0} + none + launch(0, {1, 16, 0, 0, 0}, {2, 0, 0, 0, 0});
  const Numbers failing{1, 2, 3, 1, 32, 0, 0, 0, 2, 0, 0, 0, 0, 1, 40, 0, 0, 0};
  // Each pixel is loaded to the same place, once the one before it was read.
  const Numbers load = Numbers{6, 3, 4} + place + Numbers{3, 0, 0, 0, 0, 3, 0, 0, 1, 0, 3, 0, 0, 0, 0};
  const Numbers loads = record(compute, 0) + loop(turns, wait(toDevice, 0) + load + record(toDevice, 1) + wait(compute, 1) +
                                                             launch(0, place, {2, 0, 0, 8, 0}) + record(compute, 0));
  EncodedProgram encoded;
  encoded.arenaBytes = 128;
  encoded.peakBytes = 48;
  encoded.hostBytes = 8 * turns;
  encoded.input = {1, 1, turns, 1};
  encoded.kernels = Numbers{codeOf(KernelKind::copyBox), 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0} + Numbers{codeOf(KernelKind::sgd), 1, 1, 0, 0} +
                    Numbers{codeOf(KernelKind::maxPoolBackward), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0} +
                    Numbers{codeOf(KernelKind::loadImage), 1, 1, 1, 1, 0, turns, 1, 2, 0, 1.0 / 255};
  encoded.workspaces = Numbers(4, 0x1p46);
  encoded.sections = {
      {"through", loop(turns, through), 16 * turns}, {"update", update, 16}, {"failing", failing, 8}, {"loads", loads, 8 * turns}};
  return encoded;
}

const Section& find(const Interpreter& interpreter, const std::string& name) {
  for (const Section& section : interpreter.program().sections)
    if (section.name == name) return section;
  throw Failure("no section");
}

bool run(Interpreter& interpreter, const std::string& name, std::vector<double>& stepIo, const StepParameters& step = {}) {
  Progress progress;
  progress.begin();
  return interpreter.run(find(interpreter, name), reinterpret_cast<std::byte*>(stepIo.data()), step, progress);
}

void numbersPassThrough(Interpreter& interpreter, double first) {
  std::vector<double> stepIo(static_cast<std::size_t>(2 * turns));
  for (std::size_t i = 0; i < stepIo.size() / 2; ++i) stepIo[i] = first + static_cast<double>(i);
  expect(run(interpreter, "through", stepIo), "a section did not finish");
  const auto half = stepIo.begin() + static_cast<std::ptrdiff_t>(stepIo.size() / 2);
  expect(std::equal(stepIo.begin(), half, half), "numbers did not pass through the host");
}

// Loads run on a stream of their own, also in a graph.
void pixelsAreLoaded(Interpreter& interpreter, std::uint8_t first) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(imageRows));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(first + 3 * i);
  StepParameters step;
  Image image;
  image.pixels = pixels.data();
  image.height = imageRows;
  image.width = image.channels = 1;
  step.images = {image};
  std::vector<double> stepIo(pixels.size());
  expect(run(interpreter, "loads", stepIo, step), "a section that loads did not finish");
  bool same = true;
  for (std::size_t i = 0; i < pixels.size(); ++i) same = same && std::abs(stepIo[i] - pixels[i]) < 1e-9;
  expect(same, "pixels were overwritten before they were read, or read before they were loaded");
}

// The second run is captured, later ones replay it with their own learning rate and numbers.
void eachStepHasItsOwnNumbers(Interpreter& interpreter) {
  const int before = emulated::graphsLaunched();
  for (int i = 0; i < 4; ++i) {
    StepParameters step;
    step.learningRate = 0.5 + i;
    std::vector<double> stepIo{10.0 * i, 1.0 + i};
    expect(run(interpreter, "update", stepIo, step), "an update did not finish");
    expect(stepIo[0] == 10.0 * i - (0.5 + i) * (1.0 + i), "an update took another step's numbers");
  }
  expect(emulated::graphsLaunched() == before + 3, "a section that ran again was not replayed");
}

// Libraries may refuse to be captured: then a section is queued at every run.
void whatCannotBeCapturedIsQueued() {
  FakeGpu gpu;
  gpu.waits = true;
  Interpreter interpreter(decodeProgram(program(), gpu), gpu);
  const int before = emulated::graphsLaunched();
  for (int i = 0; i < 4; ++i) {
    StepParameters step;
    step.learningRate = 1;
    std::vector<double> stepIo{10.0 * i, 1};
    expect(run(interpreter, "update", stepIo, step), "a section that cannot be captured did not finish");
    expect(stepIo[0] == 10.0 * i - 1, "a section that cannot be captured ran twice, or not at all");
  }
  expect(emulated::graphsLaunched() == before, "a section that cannot be captured was replayed");
}

// A graph has no times of its kernels: what is traced is queued at every run, and each launch and
// copy is noted twice.
void whatIsTracedIsQueued() {
  FakeGpu gpu;
  Interpreter interpreter(decodeProgram(program(), gpu), gpu, 0, Measuring{false, true});
  const int before = emulated::graphsLaunched();
  for (int i = 0; i < 3; ++i) {
    numbersPassThrough(interpreter, 5.0 + i);
    const PerEngine<std::vector<double>> noted = interpreter.timestamps();
    expect(of(noted, Engine::compute).size() == 4 * turns, "launches were not noted");
    expect(of(noted, Engine::toHost).size() == 2 * turns && of(noted, Engine::toDevice).size() == 2 * turns, "copies were not noted");
  }
  pixelsAreLoaded(interpreter, 7);
  expect(of(interpreter.timestamps(), Engine::toDevice).size() == 2 * turns, "loads were not noted");
  expect(emulated::graphsLaunched() == before, "a section that is traced was replayed");
}

// Near each other, farther apart than one copy can take them (runtime.cpp has the limit), and
// overlapping where they are read.
void rowsAreCopiedWhateverTheirStrides() {
  constexpr std::int64_t rows = 3, rowBytes = 8, space = 8192;
  FakeGpu gpu;
  for (const auto& [to, from] : {std::pair<std::int64_t, std::int64_t>{8, 8}, {16, 24}, {3000, 8}, {8, 3000}, {16, 4}, {8, 0}}) {
    const std::unique_ptr<Engines> engines = gpu.engines({space, space, 0, {}}, 0);
    std::vector<std::byte> arena(space), host(space);
    const auto byteAt = [](std::int64_t i) { return static_cast<std::byte>(i * 7 % 251); };
    for (std::int64_t i = 0; i < space; ++i) arena[static_cast<std::size_t>(i)] = engines->hostPool()[i] = byteAt(i);
    engines->upload(engines->arena(), arena.data(), arena.size());
    Progress progress;
    engines->take({}, {});
    engines->begin({}, nullptr, false, progress);
    // The second copy does not touch what the first one does.
    engines->copy(Engine::toDevice, {engines->arena() + 1, to}, {engines->hostPool() + 100, from}, rows, rowBytes, progress);
    engines->copy(Engine::toHost, {engines->arena() + 7000, 8}, {engines->hostPool() + 7500, 16}, rows, rowBytes, progress);
    engines->end(true);
    engines->download(engines->arena(), arena.data(), arena.size());
    bool same = true;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < rowBytes; ++i) {
        same = same && arena[static_cast<std::size_t>(1 + row * to + i)] == byteAt(100 + row * from + i);
        same = same && engines->hostPool()[7500 + row * 16 + i] == byteAt(7000 + row * 8 + i);
      }
    expect(same, "rows came from elsewhere, or went elsewhere");
  }
}

void aFaultIsAFailure(Interpreter& interpreter) {
  for (int i = 0; i < 3; ++i) {
    std::vector<double> stepIo(1);
    const std::int32_t wild = 1 << 20;
    std::memcpy(stepIo.data(), &wild, sizeof(wild));
    bool failed = false;
    try {
      run(interpreter, "failing", stepIo);
    } catch (const Failure&) {
      failed = true;
    }
    expect(failed, "a wild winner was taken");
  }
}

// Where a step's blocks say that a crop's pixels lie, beside what the reference device loads.
void cropsLieWhereTheReferenceReadsThem() {
  constexpr std::int64_t side = 9, height = 4, width = 6, channels = 3;
  std::vector<std::uint8_t> pixels(side * side * channels);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 37 % 251);
  for (int variant = 0; variant < 16; ++variant) {
    StepParameters step;
    Image image;
    image.pixels = pixels.data();
    image.height = image.width = side;
    image.channels = channels;
    image.cropTop = 1;
    image.cropLeft = 2;
    image.quarterTurns = variant % 4;
    image.flipHorizontal = variant / 4 % 2 == 1;
    image.flipVertical = variant / 8 == 1;
    step.images = {image};
    cuda::StepInput input({1, channels, height, width});
    input.set(step, true);
    const cuda::Stream stream = cuda::makeStream();
    input.upload(stream.get());
    cudaStreamSynchronize(stream.get());
    const cuda::ImageBlock& block = input.block()->images[0];
    Kernel kernel{KernelKind::loadImage, {1, channels, height, width, 0, height, width, 6, 0, 1.0 / 255, 0, 1.0 / 255, 0, 1.0 / 255}};
    std::vector<double> loaded(height * width * channels);
    Operand destination;
    destination.address = reinterpret_cast<std::byte*>(loaded.data());
    reference::compile<double>(kernel)->launch({destination, {}, {}, {}}, step);
    bool same = true;
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
          const std::int64_t at = (block.origin + y * block.rowStep + x * block.columnStep) * block.channels + c;
          const double expected = loaded[static_cast<std::size_t>((c * height + y) * width + x)];
          same = same && std::abs(expected - block.pixels[at]) < 1e-6;
        }
    expect(same, "a flipped and turned crop lies elsewhere");
  }
}

// Rows of launches are one graph, which runs once more than it is timed.
void rowsAreReplayed() {
  FakeGpu gpu;
  const std::unique_ptr<Engines> engines = gpu.engines({64, 0, 0, {}}, 0);
  const std::unique_ptr<CompiledKernel> adds = gpu.compile({KernelKind::copyBox, {1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0}});
  Operand source, sum;
  source.address = engines->arena();
  sum.address = source.address + sizeof(double);
  const double numbers[] = {0.5, 0};
  engines->upload(source.address, reinterpret_cast<const std::byte*>(numbers), sizeof(numbers));
  const Progress progress;
  engines->take({}, {});
  engines->begin({}, nullptr, false, progress);
  engines->launchTimed(Engine::compute, *adds, {source, sum});
  const int before = emulated::graphsLaunched();
  const std::vector<double> rows = engines->timeRows(*adds, {source, sum}, {3, 20});
  engines->end(true);
  expect(rows == std::vector<double>(3, 1.0 / 20), "a row's time was not shared by its launches");
  expect(emulated::graphsLaunched() == before + 4, "rows were not replayed");
  double found = 0;
  engines->download(sum.address, reinterpret_cast<std::byte*>(&found), sizeof(found));
  expect(found == 0.5 * (1 + 4 * 20), "rows are not of as many launches as they should be");
}

// One arena serves them all; what does not fit, or is none, says why.
void kernelsAreTimedTogether() {
  FakeGpu gpu;
  const auto sgd = [](double count) -> Kernel { return {KernelKind::sgd, {count, 1, 0, 0}}; };
  const Kernel pool{KernelKind::maxPoolBackward, {1, 1, 4, 4, 2, 2, 2, 2, 2, 2, 1, 1, 0, 0, 0, 0, 0}};
  const Kernel load{KernelKind::loadImage, {1, 1, 1, 1, 0, imageRows, 1, 2, 0, 1.0 / 255}};
  // As small as an image's pixel, so that it comes after it.
  const Kernel zero{KernelKind::zero, {8}};
  const auto times = timeKernels({sgd(3), pool, sgd(1e12), sgd(100), load, zero}, gpu);
  for (const std::size_t i : {0, 1, 3, 4, 5}) expect(std::get_if<double>(&times[i]) != nullptr, "a kernel has no time");
  expect(std::get_if<std::string>(&times[2]) != nullptr, "a kernel was timed that no memory holds");
  // What fails, most others', the images', and who comes after.
  expect(gpu.arenas == 4, "kernels have arenas of their own");
}

// Whether a process that does this to an arena of 100 bytes ends well.
bool endsWell(const std::function<void(std::byte*)>& touch) {
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    {
      FakeGpu gpu;
      const std::unique_ptr<Engines> engines = gpu.engines({100, 0, 0, {}}, 0);
      touch(engines->arena());
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void whoLeavesTheArenaIsSeen() {
  expect(endsWell([](std::byte* arena) { arena[0] = arena[99] = std::byte{1}; }), "the arena cannot be written");
  expect(!endsWell([](std::byte* arena) { arena[100] = std::byte{1}; }), "a byte behind the arena was written unseen");
  expect(!endsWell([](std::byte* arena) { *(arena - 1) = std::byte{1}; }), "a byte before the arena was written unseen");
  expect(!endsWell([](std::byte* arena) { arena[5000] = std::byte{1}; }), "bytes far behind the arena were written unseen");
}

// A python3 in the working directory would have its libraries loaded by whoever has an empty or
// relative entry in PATH.
void librariesLieAtAbsolutePathsAlone() {
  namespace fs = std::filesystem;
  std::string name = fs::temp_directory_path() / "tilefold-python-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) return expect(false, "there is no folder for a test");
  const fs::path home(name), before = fs::current_path(), library = home / "lib/python3.11/site-packages/nvidia/cudnn/lib";
  const std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  const std::string cudnn = std::getenv("TILEFOLD_CUDNN_PATH") == nullptr ? "" : std::getenv("TILEFOLD_CUDNN_PATH");
  unsetenv("TILEFOLD_CUDNN_PATH");
  fs::create_directories(library);
  fs::create_directories(home / "bin");
  std::fclose(std::fopen((home / "bin/python3").c_str(), "w"));
  fs::current_path(home / "bin");
  const auto isFound = [&](const std::string& entries) {
    setenv("PATH", entries.c_str(), 1);
    const std::vector<fs::path> folders = cuda::libraryFolders();
    return std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) { return fs::weakly_canonical(folder) == library; });
  };
  expect(isFound("/nowhere:" + (home / "bin").string()), "a python3 on the path has no packages");
  for (const char* entries : {"", ":", ".", ":/nowhere", "/nowhere:", "../bin", "/nowhere:./"})
    expect(!isFound(entries), "libraries are taken from the working directory");
  bool refused = false;
  setenv("TILEFOLD_CUDNN_PATH", "lib", 1);
  try {
    cuda::libraryFolders();
  } catch (const Failure& failure) {
    refused = std::string(failure.what()).find("TILEFOLD_CUDNN_PATH is lib, which is no absolute path") == 0;
  }
  expect(refused, "a relative TILEFOLD_CUDNN_PATH was taken");
  setenv("TILEFOLD_CUDNN_PATH", cudnn.c_str(), 1);
  setenv("PATH", path.c_str(), 1);
  fs::current_path(before);
  fs::remove_all(home);
}

std::string refusalOf(Precision precision, bool tf32) {
  try {
    makeCudaDevice(precision, tf32);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

// Before Ampere tensor cores know neither bf16 nor TF32; for cards before Turing no kernel is
// built.
void precisionsNeedTheirGpus() {
  emulated::setComputeCapability(7, 5);
  const std::string bf16 = refusalOf(Precision::bf16, false), tf32 = refusalOf(Precision::float32, true);
  const std::string turing = refusalOf(Precision::float32, false);
  emulated::setComputeCapability(7, 0);
  const std::string volta = refusalOf(Precision::float32, false);
  emulated::setComputeCapability(9, 0);
  for (const std::string& refusal : {bf16, tf32})
    expect(refusal.find("has 7.5: use --precision float32") != std::string::npos, "a GPU without tensor cores for it was not refused");
  // Past this question it may still miss cuDNN.
  expect(turing.find("compute capability") == std::string::npos, "a GPU of compute capability 7.5 was refused");
  expect(volta.find("7.5 or higher") != std::string::npos, "a GPU that no kernel is built for was not refused");
}

// A gradient of weights by warpgroups is for one generation of GPUs, and goes unshared where
// channels alone keep it busy.
void warpgroupsNeedTheirGpu() {
  // Of rows so far apart that one output row meets three of them.
  const auto gradient = [](double channels, double width, double dilation) {
    const auto nhwc = static_cast<double>(Layout::nhwc), ohwi = static_cast<double>(Layout::ohwi);
    const std::vector<double> rows{2 * dilation + 1, width, 1, width, 3, 3, 1, 1, dilation, 1, 0, 0, 1, 1};
    std::vector<double> fields{1, channels};
    fields.insert(fields.end(), rows.begin(), rows.end());
    fields.insert(fields.end(), {channels, 1, nhwc, nhwc, ohwi, 0});
    return decode<Convolution>(Kernel{KernelKind::convolutionBackwardWeights, fields});
  };
  cuda::Context context;
  context.math = cuda::Math::tf32;
  context.multiprocessors = 132;
  const auto fits = [&](int capability, double width = 32, double dilation = 1) {
    context.computeCapability = capability;
    return cuda::fitsWarpgroups(KernelKind::convolutionBackwardWeights, gradient(64, width, dilation), context);
  };
  expect(fits(9) && !fits(8) && !fits(10), "warpgroups are offered to GPUs that have none, or not to those that have");
  expect(fits(9, 1 << 20, 1 << 10) && !fits(9, 1 << 20, 1 << 21), "more rows are taken than are counted");
  expect(!cuda::fillsUnshared(gradient(64, 32, 1), context) && cuda::fillsUnshared(gradient(512, 32, 1), context),
         "a gradient goes unshared on one multiprocessor, or shared where there are enough channels");
}

// In TFLOP/s, dense, as NVIDIA's data sheets have them; clocks and multiprocessors are theirs too.
void cardsHaveTheRatesOfTheirDataSheets() {
  struct Card {
    const char* name;
    int major, minor, multiprocessors;
    double gigahertz, float32, tf32, bf16;
  };
  for (const Card& card : {Card{"NVIDIA A100-SXM4-80GB", 8, 0, 108, 1.41, 19.5, 156, 312},
                           Card{"NVIDIA A40", 8, 6, 84, 1.74, 37.4, 74.8, 149.7},
                           Card{"NVIDIA GeForce RTX 3090", 8, 6, 82, 1.695, 35.6, 35.6, 71},
                           Card{"NVIDIA L40S", 8, 9, 142, 2.52, 91.6, 183, 362},
                           Card{"NVIDIA GeForce RTX 4090", 8, 9, 128, 2.52, 82.6, 82.6, 165.2},
                           Card{"NVIDIA GeForce RTX 5090", 12, 0, 170, 2.407, 104.8, 104.8, 209.5}}) {
    const cuda::CardRates rates = cuda::cardRates(card.major, card.minor, card.name);
    const double float32 = 2 * rates.lanes * card.multiprocessors * card.gigahertz / 1000;
    const auto near = [](double is, double shall) { return std::abs(is - shall) < 0.02 * shall; };
    expect(near(float32, card.float32) && near(float32 * rates.tf32, card.tf32) && near(float32 * rates.bf16, card.bf16), card.name);
  }
}

// Swapping takes memory that cannot be paged: more than there is is no matter of the device's
// budget.
void aHostPoolThatCannotBePinnedSaysSo() {
  FakeGpu gpu;
  std::string sentence;
  try {
    gpu.engines({64, std::size_t{1} << 40, 0, {}}, 0);
  } catch (const NoMemory& failure) {
    sentence = failure.what();
  }
  expect(sentence.find("--host-budget") != std::string::npos, "a host pool of a tebibyte was pinned, or refused for another reason");
}

void runAll(unsigned seed) {
  emulated::shuffle(seed);
  FakeGpu gpu;
  Interpreter interpreter(decodeProgram(program(), gpu), gpu);
  for (int i = 0; i < 3; ++i) numbersPassThrough(interpreter, 100.0 * i);
  expect(interpreter.engines().hostPeakBytes() == static_cast<std::size_t>(8 * turns), "the host pool's peak is wrong");
  for (int i = 0; i < 3; ++i) pixelsAreLoaded(interpreter, static_cast<std::uint8_t>(50 * i));
  eachStepHasItsOwnNumbers(interpreter);
  aFaultIsAFailure(interpreter);
  expect(interpreter.engines().arenaPeakBytes() == 48, "the arena's peak is wrong");
  Interpreter timed(decodeProgram(program(), gpu), gpu, 0, Measuring{true, false});
  for (int i = 0; i < 3; ++i) numbersPassThrough(timed, 7.0 * i);
  expect(timed.kernelMilliseconds()[0] == 3 * 2 * turns, "kernels were not timed one by one");
  pixelsAreLoaded(timed, 1);
  expect(timed.kernelMilliseconds()[3] == turns, "loads were not timed one by one");
}

}  // namespace
}  // namespace tilefold::test

int main() {
  using namespace tilefold::test;
  whoLeavesTheArenaIsSeen();
  librariesLieAtAbsolutePathsAlone();
  for (unsigned seed = 1; seed <= 20; ++seed) runAll(seed);
  whatCannotBeCapturedIsQueued();
  whatIsTracedIsQueued();
  rowsAreCopiedWhateverTheirStrides();
  aHostPoolThatCannotBePinnedSaysSo();
  cropsLieWhereTheReferenceReadsThem();
  rowsAreReplayed();
  kernelsAreTimedTogether();
  precisionsNeedTheirGpus();
  warpgroupsNeedTheirGpu();
  cardsHaveTheRatesOfTheirDataSheets();
  failures += smallLaunches() + fusedLaunches();
  std::printf("cuda engines: %d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
