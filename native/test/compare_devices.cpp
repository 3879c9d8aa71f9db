// Every kernel in a device's own layouts against the reference device in plain ones, on operands of
// exactly the granted bytes.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "kernels/bfloat16.hpp"
#include "buffers.hpp"
#include "forms.hpp"
#include "launch.hpp"
#include "kernels/maxima.hpp"
#include "reference/device.hpp"
#include "tests.hpp"

namespace tilefold::test {
namespace {

void reorder(const Kernel& kernel, Device& device, const Block& from, const Block& to) {
  StepParameters none;
  launch(kernel, device, {{from.data(), 0}, {to.data(), 0}}, none);
}

// To a device's own layout. Devices reorder weights in float alone, so those in bf16 go by way of
// that, which loses nothing.
void toLayout(const Form& form, Device& device, const Block& plain, const Block& own) {
  if (form.kind != Form::Kind::weights || plain.element() != 2) return reorder(form.fromPlain, device, plain, own);
  const Block wide(2 * plain.bytes()), wideOwn(2 * own.bytes());
  const auto* from = reinterpret_cast<const Bfloat16*>(plain.data());
  std::copy(from, from + plain.bytes() / 2, wide.floats());
  reorder(form.fromPlain, device, wide, wideOwn);
  std::copy(wideOwn.floats(), wideOwn.floats() + wideOwn.floatCount(), reinterpret_cast<Bfloat16*>(own.data()));
}

// The places that a kernel's maxima may have.
std::int64_t placesIn(const Kernel& kernel) {
  if (kernel.kind == KernelKind::mergeMaxima) return decode<MergeParts>(kernel).parts;
  const auto t = decode<PlacedTile>(kernel);
  return t.fullHeight * t.fullWidth;
}

std::string describe(const Kernel& kernel) {
  std::string text = kernelInfo(kernel.kind).name;
  for (const double field : kernel.fields) {
    char number[32];
    std::snprintf(number, sizeof(number), " %g", field);
    text += number;
  }
  return text;
}

// What stands in the plain operands before the launch.
void fill(const Kernel& kernel, Operands& plain, const std::vector<Form>& forms, Random& random) {
  for (std::size_t i = 0; i < forms.size(); ++i) {
    Block& block = plain.blocks[i];
    if (forms[i].kind == Form::Kind::labels) {
      const bool ofPixels = kernel.kind != KernelKind::softmaxCrossEntropyForward && kernel.kind != KernelKind::softmaxCrossEntropyBackward;
      const std::int64_t classes = ofPixels ? decode<Tile>(kernel).channels : decode<CrossEntropy>(kernel).classes;
      for (std::size_t row = 0; row < block.bytes() / 4; ++row) {
        const auto label = static_cast<std::int32_t>(number(random, 0, classes - 1));
        std::memcpy(block.data() + 4 * row, &label, 4);
      }
    } else if (forms[i].kind == Form::Kind::doubles) {
      std::uniform_real_distribution<double> values(0, 4);
      for (std::size_t k = 0; k < block.bytes() / sizeof(double); ++k) reinterpret_cast<double*>(block.data())[k] = values(random);
    } else if (forms[i].kind == Form::Kind::maxima) {
      const std::int64_t places = placesIn(kernel);
      std::uniform_real_distribution<float> values(-1, 1);
      for (std::size_t k = 0; k < block.bytes() / sizeof(Maximum); ++k) {
        const auto place = static_cast<double>(number(random, 0, places));
        const Maximum maximum{number(random, 0, 1) == 0 ? 0.0 : static_cast<double>(values(random)), place};
        std::memcpy(block.data() + k * sizeof(maximum), &maximum, sizeof(maximum));
      }
    } else if (forms[i].kind == Form::Kind::statistics) {
      std::uniform_real_distribution<double> means(-1, 1), variances(0.1, 2);
      for (std::size_t row = 0; row < block.bytes() / (3 * sizeof(double)); ++row) {
        const auto count = static_cast<double>(number(random, 2, 50));
        const double moments[]{count, means(random), count * variances(random)};
        std::memcpy(block.data() + row * sizeof(moments), moments, sizeof(moments));
      }
    } else if (forms[i].kind != Form::Kind::other && forms[i].kind != Form::Kind::indices) {
      fillFloats(block, random);
      if (forms[i].kind != Form::Kind::moment) continue;
      for (std::size_t k = 0; k < block.floatCount(); ++k) block.floats()[k] = std::fabs(block.floats()[k]);
    }
  }
}

// Winners are a device's own, so its own forward pass writes them.
void win(const Kernel& backward, Device& device, const std::vector<Form>& forms, const Block& plainSource, Operands& operands) {
  Kernel forward = backward;
  forward.kind = KernelKind::maxPoolForward;
  Operands pass = allocate(forward, device, true);
  reorder(forms[2].fromPlain, device, plainSource, pass.blocks[0]);
  pass.operands[2] = operands.operands[1];
  launch(forward, device, pass.operands, {});
}

// Largest difference from the reference, relative to 1 plus its value.
template <class T>
double difference(const Block& expected, const Block& actual) {
  double largest = 0;
  for (std::size_t k = 0; k < expected.bytes() / sizeof(T); ++k) {
    const double a = static_cast<double>(reinterpret_cast<const T*>(expected.data())[k]);
    const double b = static_cast<double>(reinterpret_cast<const T*>(actual.data())[k]);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double error = std::fabs(a - b) / (1 + std::fabs(a));
    largest = std::isfinite(error) ? std::max(largest, error) : INFINITY;
  }
  return largest;
}

// Two neighbours among the latter are 4e-3 apart.
constexpr double tolerance = 2e-5, ofBfloat16 = 1e-2;

// Of matrices and convolutions, which a device may compute in another precision: all but the
// gradient of a bias, which is a mere sum.
bool isProduct(KernelKind kind) {
  return isConvolution(kind) || isLinear(kind) || kind == KernelKind::normalisedConvolutionForward ||
         kind == KernelKind::normalisedConvolutionBackwardWeights;
}
bool isProduct(KernelKind kind, const OperandInfo& operand) {
  return isProduct(kind) && std::strcmp(operand.name, "biasGradient") != 0;
}

double differenceOfNumbers(const Block& expected, const Block& actual) {
  return expected.element() == 2 ? difference<Bfloat16>(expected, actual) : difference<float>(expected, actual);
}

class Comparison {
 public:
  Comparison(Device& device, double ofProducts, Random& random)
      : device_(device), ofProducts_(ofProducts), reference_(makeReferenceDevice(device.precision())), random_(random) {}

  void run(const Kernel& plainKernel) {
    const KernelKind kind = plainKernel.kind;
    const Kernel kernel = inLayouts(plainKernel, device_, random_);
    const bool withOptional = number(random_, 0, 1) == 1;
    const std::vector<Form> forms = formsOf(kernel), plainForms = formsOf(plainKernel);
    Operands expected = allocate(plainKernel, *reference_, withOptional), actual = allocate(kernel, device_, withOptional);
    // Whether optional or not, scratch that is needed is there.
    fill(plainKernel, expected, forms, random_);
    if (kind == KernelKind::loadImage) step_.useFor(decode<LoadImage>(kernel));
    setIndices(kernel, expected, actual);
    if (kind == KernelKind::maxPoolBackward) {
      const Block source(expected.blocks[2].bytes(), expected.blocks[2].element());
      std::memcpy(source.data(), expected.blocks[2].data(), source.bytes());
      win(plainKernel, *reference_, plainForms, source, expected);
      win(kernel, device_, forms, source, actual);
    }
    for (std::size_t i = 0; i < forms.size(); ++i) transfer(forms[i], expected.blocks[i], actual.blocks[i]);
    launch(plainKernel, *reference_, expected.operands, step_.parameters);
    launch(kernel, device_, actual.operands, step_.parameters);
    for (std::size_t i = 0; i < forms.size(); ++i)
      if (actual.operands[i].address != nullptr) check(kernel, i, forms[i], expected.blocks[i], actual.blocks[i]);
  }

 private:
  void setIndices(const Kernel& kernel, Operands& expected, Operands& actual) {
    const auto& table = kernelInfo(kernel.kind).operands;
    const std::vector<OperandExtent> extents = operandExtents(kernel, device_);
    for (std::size_t i = 0; i < table.size(); ++i)
      if (table[i].use == Use::index)
        expected.operands[i].index = actual.operands[i].index = number(random_, 0, std::min<std::int64_t>(1, extents[i].limit));
  }

  void transfer(const Form& form, const Block& plain, const Block& own) {
    switch (form.kind) {
      case Form::Kind::activation:
      case Form::Kind::weights:
        return toLayout(form, device_, plain, own);
      case Form::Kind::plain:
      case Form::Kind::moment:
      case Form::Kind::labels:
      case Form::Kind::doubles:
      case Form::Kind::statistics:
      case Form::Kind::maxima:
        std::memcpy(own.data(), plain.data(), plain.bytes());
        return;
      case Form::Kind::indices:
      case Form::Kind::other:
        return;
    }
  }

  void check(const Kernel& kernel, std::size_t position, const Form& form, const Block& expected, const Block& actual) {
    const OperandInfo& info = kernelInfo(kernel.kind).operands[position];
    if (info.use == Use::scratch || form.kind == Form::Kind::indices || form.kind == Form::Kind::labels) return;
    const auto fail = [&](const std::string& what) { throw Failure(describe(kernel) + ": " + info.name + " " + what); };
    if (form.kind == Form::Kind::other) {
      if (std::memcmp(expected.data(), actual.data(), expected.bytes()) != 0) fail("differs in its bytes");
      return;
    }
    const auto expectClose = [&](double largest) {
      const double most = expected.element() == 2 ? ofBfloat16 : isProduct(kernel.kind, info) ? ofProducts_ : tolerance;
      if (!(largest <= most)) fail("differs by " + std::to_string(largest));
    };
    const bool isDouble = form.kind == Form::Kind::doubles || form.kind == Form::Kind::statistics || form.kind == Form::Kind::maxima;
    if (isDouble) return expectClose(difference<double>(expected, actual));
    if (form.kind == Form::Kind::plain || form.kind == Form::Kind::moment) return expectClose(differenceOfNumbers(expected, actual));
    const Block plain(expected.bytes(), expected.element()), again(actual.bytes(), actual.element());
    if (form.kind == Form::Kind::weights && expected.element() == 2) {
      toLayout(form, device_, expected, again);
      return expectClose(differenceOfNumbers(again, actual));
    }
    reorder(form.toPlain, device_, actual, plain);
    expectClose(differenceOfNumbers(expected, plain));
    reorder(form.fromPlain, device_, plain, again);
    if (std::memcmp(again.data(), actual.data(), actual.bytes()) != 0) fail("has padding that is not zero");
  }

  Device& device_;
  double ofProducts_;
  std::unique_ptr<Device> reference_;
  Random& random_;
  Step step_;
};

}  // namespace

int compareDevice(const std::string& name, Device& device, int rounds, Kernels compared, double ofProducts) {
  Random random(1);
  Comparison comparison(device, ofProducts, random);
  int failures = 0, count = 0;
  const auto compare = [&](const Kernel& kernel) {
    if (compared == Kernels::products && !isProduct(kernel.kind)) return;
    ++count;
    try {
      comparison.run(kernel);
    } catch (const Failure& failure) {
      ++failures;
      std::printf("%s: %s\n", name.c_str(), failure.what());
    }
  };
  for (int kind = 0; kind < kernelKindCount; ++kind)
    for (int round = 0; round < rounds && hasKernel(static_cast<KernelKind>(kind), device); ++round)
      compare(randomKernel(static_cast<KernelKind>(kind), random));
  if (compared != Kernels::small)
    for (const Kernel& kernel : largeKernels()) compare(kernel);
  std::printf("%s: %d kernels compared, %d failures\n", name.c_str(), count, failures);
  return failures;
}

}  // namespace tilefold::test
