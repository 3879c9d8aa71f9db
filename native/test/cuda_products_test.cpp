// Convolutions and linear layers of the cuda device against the reference device: cuda_products_test [cases]. Passes where there is no GPU.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>
#include <random>

#include "../src/check_kernel.hpp"
#include "../src/cuda/check.hpp"
#include "../src/cuda/convolution.hpp"
#include "../src/cuda/libraries.hpp"
#include "../src/cuda/linear.hpp"
#include "../src/reference/convolution.hpp"
#include "../src/reference/linear.hpp"

namespace tilefold {
namespace {

using Floats = std::vector<float>;

std::mt19937_64 generator(1);  // NOLINT: the same cases every time

std::int64_t draw(std::int64_t least, std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(least, most)(generator); }

std::int64_t pick(const std::vector<std::int64_t>& values) {
  return values[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(values.size()) - 1))];
}

Floats random(std::int64_t count) {
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(generator);
  return values;
}

// Device memory between two guards, filled with NaN until it is written.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    cuda::check(cudaMalloc(&data_, bytes + 2 * guard), "allocating an operand");
    cuda::check(cudaMemset(data_, 0xFF, bytes + 2 * guard), "filling an operand");
  }
  explicit DeviceBuffer(const Floats& values) : DeviceBuffer(values.size() * sizeof(float)) {
    cuda::check(cudaMemcpy(start(), values.data(), bytes_, cudaMemcpyHostToDevice), "writing an operand");
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { cudaFree(data_); }

  Operand operand() const { return {start(), 0}; }
  Floats values() const {
    std::vector<unsigned char> all(bytes_ + 2 * guard);
    cuda::check(cudaMemcpy(all.data(), data_, all.size(), cudaMemcpyDeviceToHost), "reading an operand");
    for (std::size_t i = 0; i < guard; ++i)
      if (all[i] != 0xFF || all[all.size() - 1 - i] != 0xFF) throw std::logic_error("something was written outside of an operand");
    Floats floats(bytes_ / sizeof(float));
    if (!floats.empty()) std::memcpy(floats.data(), all.data() + guard, floats.size() * sizeof(float));
    return floats;
  }

 private:
  // Operands begin at multiples of 64 bytes and no more, as staging places them.
  static constexpr std::size_t guard = 64;
  std::byte* start() const { return static_cast<std::byte*>(data_) + guard; }
  std::size_t bytes_;
  void* data_ = nullptr;
};

// [outer][channels][inner] as [outer][inner][channels].
Floats channelsLast(const Floats& values, std::int64_t channels, std::int64_t inner) {
  Floats result(values.size());
  const auto c = static_cast<std::size_t>(channels), n = static_cast<std::size_t>(inner);
  for (std::size_t i = 0; i < values.size(); ++i) result[i / (c * n) * c * n + i % n * c + i / n % c] = values[i];
  return result;
}

struct Result {
  const char* name;
  Floats expected, found, again;
};

std::string text(const Kernel& kernel) {
  std::string result = kernelInfo(kernel.kind).name;
  for (std::size_t i = 0; i < kernel.fields.size(); ++i)
    result += std::string(i == 0 ? " " : ", ") + kernelInfo(kernel.kind).fields[i] + " " + std::to_string(kernel.fields[i]);
  return result;
}

// Relative to the norm of the whole result; launched twice, the bits are the same.
void expectClose(const Kernel& kernel, const Result& r, double tolerance) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < r.expected.size(); ++i) {
    const double expected = r.expected[i], error = static_cast<double>(r.found[i]) - expected;
    difference += error * error;
    norm += expected * expected;
  }
  if (!(std::sqrt(difference) <= tolerance * (std::sqrt(norm) + 1)))
    throw std::logic_error(text(kernel) + ": " + r.name + " differs by " + std::to_string(std::sqrt(difference)) + " of " +
                           std::to_string(std::sqrt(norm)));
  if (std::memcmp(r.found.data(), r.again.data(), r.found.size() * sizeof(float)) != 0)
    throw std::logic_error(text(kernel) + ": " + r.name + " has other bits at the second launch");
}

// `inputs` null: an operand that is not there. Operands without values are outputs of `sizes` floats.
struct Given {
  const char* name;
  const Floats* input;
  const Floats* expected;
};

void launchAndCompare(const Kernel& kernel, CompiledKernel& compiled, const std::vector<Given>& given, std::size_t scratchBytes,
                      bool hasScratch, double tolerance) {
  std::vector<Result> results;
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<Operand> operands;
    for (const Given& g : given) {
      if (g.input != nullptr)
        buffers.push_back(std::make_unique<DeviceBuffer>(*g.input));
      else if (g.expected != nullptr)
        buffers.push_back(std::make_unique<DeviceBuffer>(g.expected->size() * sizeof(float)));
      else
        buffers.push_back(nullptr);
      operands.push_back(buffers.back() == nullptr ? Operand{} : buffers.back()->operand());
    }
    const DeviceBuffer scratch(scratchBytes);
    if (hasScratch) operands.push_back(scratchBytes == 0 ? Operand{} : scratch.operand());
    compiled.launch(operands, {});
    cuda::check(cudaDeviceSynchronize(), "launching");
    scratch.values();
    std::size_t next = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (buffers[i] == nullptr) continue;
      const Floats values = buffers[i]->values();
      if (given[i].input != nullptr) continue;
      if (repeat == 0)
        results.push_back({given[i].name, *given[i].expected, values, {}});
      else
        results[next++].again = values;
    }
  }
  for (const Result& result : results) expectClose(kernel, result, tolerance);
}

struct Axis {
  std::int64_t in, out, kernel, stride, dilation, before, after;
};

Axis randomAxis() {
  const std::int64_t kernel = pick({1, 1, 2, 3, 3, 3, 5, 7}), dilation = pick({1, 1, 1, 2, 6}), stride = pick({1, 1, 1, 2, 3});
  const std::int64_t most = pick({0, 1, 1, kernel / 2 * dilation}), reach = (kernel - 1) * dilation + 1;
  const std::int64_t before = draw(0, most), after = draw(0, 1) == 0 ? before : draw(0, most);
  const std::int64_t in = std::max(draw(1, pick({3, 9, 70})), std::max<std::int64_t>(1, reach - before - after));
  return {in, (in + before + after - reach) / stride + 1, kernel, stride, dilation, before, after};
}

Kernel kernelOf(KernelKind kind, const std::vector<std::int64_t>& fields, double slope = 1) {
  Kernel kernel{kind, {}};
  for (const std::int64_t field : fields) kernel.fields.push_back(static_cast<double>(field));
  if (kind == KernelKind::convolutionForward) kernel.fields.push_back(slope);
  checkKernel(kernel);
  return kernel;
}

std::map<std::string, int> runs;  // by kind, layout and algorithm

void testConvolution(const cuda::Context& context) {
  const std::int64_t groups = pick({1, 1, 1, 1, 2, 4}), in = groups * pick({1, 3, 4, 8, 33}), out = groups * pick({1, 4, 8, 36, 64});
  const Axis rows = randomAxis(), columns = randomAxis();
  const bool innermost = draw(0, 1) == 0, withBias = draw(0, 3) > 0;
  const bool plainSource = !innermost || (in <= 4 && draw(0, 1) == 0);
  const double slope = std::vector<double>{1, 0, 0.1}[static_cast<std::size_t>(draw(0, 2))];
  const auto code = [](Layout layout) { return static_cast<std::int64_t>(layout); };
  const auto kernelFor = [&](KernelKind kind, bool plain, std::int64_t algorithm) {
    const Layout source = plain || plainSource ? Layout::plain : Layout::nhwc;
    const Layout destination = plain || !innermost ? Layout::plain : Layout::nhwc,
                 weights = plain || !innermost ? Layout::plain : Layout::ohwi;
    return kernelOf(kind,
                    {pick({1, 1}) + static_cast<std::int64_t>(in % 2),
                     in,
                     rows.in,
                     columns.in,
                     rows.out,
                     columns.out,
                     rows.kernel,
                     columns.kernel,
                     rows.stride,
                     columns.stride,
                     rows.dilation,
                     columns.dilation,
                     rows.before,
                     rows.after,
                     columns.before,
                     columns.after,
                     out,
                     groups,
                     code(source),
                     code(destination),
                     code(weights),
                     algorithm},
                    slope);
  };
  const auto c = decode<Convolution>(kernelFor(KernelKind::convolutionForward, true, 0));
  const std::int64_t taps = c.kernelHeight * c.kernelWidth, inPixels = c.inHeight * c.inWidth, outPixels = c.outHeight * c.outWidth;
  const Floats x = random(c.batch * in * inPixels), w = random(out * (in / groups) * taps), b = random(out),
               dy = random(c.batch * out * outPixels);
  Floats y(dy.size()), dx(x.size()), dw(w.size()), db(b.size());
  reference::convolutionForward(c, x.data(), w.data(), withBias ? b.data() : nullptr, y.data());
  reference::convolutionBackwardData(c, dy.data(), w.data(), dx.data());
  reference::convolutionBackwardWeights(c, x.data(), dy.data(), dw.data(), db.data());
  const auto source = [&](const Floats& values) { return plainSource ? values : channelsLast(values, in, inPixels); };
  const auto destination = [&](const Floats& values) { return innermost ? channelsLast(values, out, outPixels) : values; };
  const auto weights = [&](const Floats& values) { return innermost ? channelsLast(values, in / groups, taps) : values; };
  const Floats sx = source(x), sdx = source(dx), dyy = destination(y), ddy = destination(dy), ww = weights(w), wdw = weights(dw);

  const std::map<KernelKind, std::vector<Given>> operands{
      {KernelKind::convolutionForward,
       {{"source", &sx, nullptr}, {"weights", &ww, nullptr}, {"bias", withBias ? &b : nullptr, nullptr}, {"destination", nullptr, &dyy}}},
      {KernelKind::convolutionBackwardData,
       {{"destinationGradient", &ddy, nullptr}, {"weights", &ww, nullptr}, {"sourceGradient", nullptr, &sdx}}},
      {KernelKind::convolutionBackwardWeights,
       {{"source", &sx, nullptr},
        {"destinationGradient", &ddy, nullptr},
        {"weightGradient", nullptr, &wdw},
        {"biasGradient", nullptr, withBias ? &db : nullptr}}}};
  for (const auto& [kind, given] : operands) {
    const std::string name = std::string(kernelInfo(kind).name) + (innermost ? (plainSource ? " plain to nhwc" : " nhwc") : " plain");
    std::vector<cuda::ConvolutionAlgorithm> algorithms = cuda::convolutionAlgorithms(kind, c, context);
    try {
      const auto first = decode<Convolution>(kernelFor(kind, false, 0));
      algorithms = cuda::convolutionAlgorithms(kind, first, context);
      algorithms.push_back({0, cuda::convolutionScratchBytes(kind, first, context)});
    } catch (const Failure& failure) {
      if (!innermost) throw;
      ++runs[name + " refused"];
      if (runs[name + " refused"] == 1) std::cout << text(kernelFor(kind, false, 0)) << ": " << failure.what() << "\n";
    }
    for (const auto& [algorithm, bytes] : algorithms) {
      const Kernel kernel = kernelFor(kind, false, algorithm);
      const auto convolution = decode<Convolution>(kernel);
      if (cuda::convolutionScratchBytes(kind, convolution, context) != bytes)
        throw std::logic_error(text(kernel) + ": other scratch bytes");
      const auto compiled = cuda::compileConvolution(kind, convolution, context);
      const bool rounds = algorithm > cudnnAlgorithms + 2;  // Fourier's and Winograd's transforms are of one size or another
      launchAndCompare(kernel, *compiled, given, bytes, true, context.math == cuda::Math::tf32 ? 2e-3 : rounds ? 1e-3 : 1e-5);
      ++runs[name + ", algorithm " + std::to_string(algorithm)];
    }
  }
}

void testLinear(const cuda::Context& context) {
  const std::int64_t batch = draw(1, 9), in = draw(1, 300), out = draw(1, 70);
  const bool withBias = draw(0, 3) > 0;
  const auto kernelFor = [&](KernelKind kind) { return kernelOf(kind, {batch, in, out}); };
  const auto l = decode<Linear>(kernelFor(KernelKind::linearForward));
  const Floats x = random(batch * in), w = random(out * in), b = random(out), dy = random(batch * out);
  Floats y(dy.size()), dx(x.size()), dw(w.size()), db(b.size());
  reference::linearForward(l, x.data(), w.data(), withBias ? b.data() : nullptr, y.data());
  reference::linearBackwardData(l, dy.data(), w.data(), dx.data());
  reference::linearBackwardWeights(l, x.data(), dy.data(), dw.data(), db.data());
  const std::map<KernelKind, std::vector<Given>> operands{
      {KernelKind::linearForward,
       {{"source", &x, nullptr}, {"weights", &w, nullptr}, {"bias", withBias ? &b : nullptr, nullptr}, {"destination", nullptr, &y}}},
      {KernelKind::linearBackwardData, {{"destinationGradient", &dy, nullptr}, {"weights", &w, nullptr}, {"sourceGradient", nullptr, &dx}}},
      {KernelKind::linearBackwardWeights,
       {{"source", &x, nullptr},
        {"destinationGradient", &dy, nullptr},
        {"weightGradient", nullptr, &dw},
        {"biasGradient", nullptr, withBias ? &db : nullptr}}}};
  for (const auto& [kind, given] : operands) {
    const Kernel kernel = kernelFor(kind);
    launchAndCompare(kernel, *cuda::compileLinear(kind, l, context), given, 0, false, context.math == cuda::Math::tf32 ? 2e-3 : 1e-5);
    ++runs[kernelInfo(kind).name];
  }
}

}  // namespace
}  // namespace tilefold

int main(int count, char** arguments) {
  using namespace tilefold;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::cout << "cuda_products_test: there is no CUDA device, so nothing was tested\n";
    return 0;
  }
  try {
    const int cases = count > 1 ? std::atoi(arguments[1]) : 100;
    for (const cuda::Math math : {cuda::Math::float32, cuda::Math::tf32}) {
      cuda::Libraries libraries(nullptr, math);
      if (math == cuda::Math::float32) std::cout << libraries.versions() << "\n";
      cuda::Context context;
      context.math = math;
      context.libraries = &libraries;
      for (int i = 0; i < cases; ++i) {
        testConvolution(context);
        testLinear(context);
      }
    }
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << "\n";
    return 1;
  }
  for (const auto& [name, times] : runs) std::cout << times << " x " << name << "\n";
  return 0;
}
