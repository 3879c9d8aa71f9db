#include "random_kernels.hpp"

#include <cstring>

#include "kernels/expression.hpp"
#include "kernels/normalised_convolution.hpp"

namespace tilefold::test {
namespace {

using Numbers = std::vector<double>;

double fraction(Random& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

// in, out, kernel, stride, dilation, padding before and after along one axis.
struct Axis {
  std::int64_t in, out, kernel, stride, dilation, before, after;
};

Axis randomAxis(Random& random, bool dilated) {
  while (true) {
    Axis a{number(random, 1, 9), 0, number(random, 1, 4), number(random, 1, 3), dilated ? number(random, 1, 2) : 1, 0, 0};
    a.before = number(random, 0, a.kernel / 2);
    a.after = number(random, 0, a.kernel / 2);
    const std::int64_t reach = (a.kernel - 1) * a.dilation + 1, padded = a.in + a.before + a.after;
    if (reach > padded) continue;
    a.out = (padded - reach) / a.stride + 1;
    return a;
  }
}

Numbers window(Random& random, std::int64_t channels, bool dilated) {
  const Axis h = randomAxis(random, dilated), w = randomAxis(random, dilated);
  const auto d = [](std::int64_t value) { return static_cast<double>(value); };
  return {d(number(random, 1, 2)),
          d(channels),
          d(h.in),
          d(w.in),
          d(h.out),
          d(w.out),
          d(h.kernel),
          d(w.kernel),
          d(h.stride),
          d(w.stride),
          d(h.dilation),
          d(w.dilation),
          d(h.before),
          d(h.after),
          d(w.before),
          d(w.after)};
}

std::int64_t someChannels(Random& random) { return number(random, 0, 2) == 0 ? 16 * number(random, 1, 2) : number(random, 1, 20); }

Numbers convolution(Random& random) {
  const std::int64_t groups = number(random, 0, 3) == 0 ? number(random, 2, 4) : 1;
  const std::int64_t in = groups > 1 ? number(random, 1, 3) : someChannels(random),
                     out = groups > 1 ? number(random, 1, 3) : someChannels(random);
  Numbers fields = window(random, in * groups, true);
  for (const std::int64_t value : {out * groups, groups, std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, std::int64_t{0}})
    fields.push_back(static_cast<double>(value));
  return fields;
}

Numbers tile(Random& random) {
  return {static_cast<double>(number(random, 1, 2)), static_cast<double>(someChannels(random)), static_cast<double>(number(random, 1, 5)),
          static_cast<double>(number(random, 1, 6)), 0};
}

Numbers append(Numbers fields, const Numbers& more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

Numbers pointwiseTile(Random& random) {
  Numbers fields = tile(random);
  for (int flag = 0; flag < 3; ++flag) fields.push_back(static_cast<double>(number(random, 0, 1)));
  return fields;
}

// Of bounded values, so that devices differ by no more than they round; comparisons are of what is
// the same on all of them.
Numbers expression(Random& random, bool hasGradient) {
  Numbers code;
  int next = 0;
  const auto append = [&](Operation operation, double a = 0, double b = 0, double c = 0) {
    // One by one: g++ 12 finds fault with a list that is inserted into nothing.
    for (const double value : {static_cast<double>(static_cast<int>(operation)), static_cast<double>(next), a, b, c}) code.push_back(value);
    return next++;
  };
  append(Operation::input);
  append(Operation::second);
  append(Operation::weight);
  append(Operation::bias);
  append(hasGradient ? Operation::gradient : Operation::input);
  append(Operation::constant, 0.25);
  const auto any = [&] { return static_cast<double>(number(random, 0, next - 1)); };
  for (std::int64_t step = number(random, 1, 6); step > 0; --step) {
    const Operation binary[] = {Operation::add, Operation::sub, Operation::mul, Operation::minimum, Operation::maximum};
    const Operation bounded[] = {Operation::tanh, Operation::erf, Operation::sigmoid, Operation::neg};
    const double value = any(), other = any();
    switch (number(random, 0, 5)) {
      case 0:
        append(bounded[number(random, 0, 3)], value);
        break;
      case 1:
        append(number(random, 0, 1) == 0 ? Operation::exp : Operation::expm1, append(Operation::tanh, value));
        break;
      case 2: {
        const double positive = append(Operation::exp, append(Operation::tanh, value));
        const Operation rest[] = {Operation::log, Operation::log1p, Operation::sqrt};
        append(rest[number(random, 0, 2)], positive);
        append(Operation::div, other, positive);
        break;
      }
      case 3:
        append(Operation::where, append(number(random, 0, 1) == 0 ? Operation::less : Operation::lessEqual, 0, 5), value, other);
        break;
      default:
        append(Operation::tanh, append(binary[number(random, 0, 4)], value, other));
    }
  }
  code.insert(code.begin(), static_cast<double>(code.size()));
  return code;
}

// Strides of a plain tensor a little larger than the tile.
Numbers strided(Random& random) {
  const Numbers t = tile(random);
  const double row = t[3] + static_cast<double>(number(random, 0, 2)), plane = row * (t[2] + static_cast<double>(number(random, 0, 2)));
  return append(t, {plane * t[1], plane, row});
}

Numbers copyBox(Random& random) {
  Numbers n;
  for (int i = 0; i < 4; ++i) n.push_back(static_cast<double>(number(random, 1, 4)));
  for (int side = 0; side < 2; ++side) {
    const double row = n[3] + static_cast<double>(number(random, 0, 2));
    n.insert(n.end(), {row * n[2] * n[1], row * n[2], row});
  }
  n.push_back(static_cast<double>(number(random, 0, 1)));
  n.push_back(static_cast<double>(number(random, 0, 1)));
  if (n[10] + n[11] == 2 && number(random, 0, 1) == 1) n[7] = 0;  // a sum of all boxes
  return n;
}

Numbers averagePool(Random& random) {
  Numbers fields = window(random, someChannels(random), false);
  const double right = static_cast<double>(number(random, 0, static_cast<std::int64_t>(fields[15])));
  const double bottom = static_cast<double>(number(random, 0, static_cast<std::int64_t>(fields[13])));
  return append(fields, {0, bottom, right, static_cast<double>(number(random, 0, 1))});
}

Numbers channelGroups(Random& random) {
  const Numbers t = tile(random);
  const auto channels = static_cast<std::int64_t>(t[1]);
  std::int64_t groups = channels;
  while (number(random, 0, 1) == 1 || channels % groups != 0) groups = number(random, 1, channels);
  return append(t, {static_cast<double>(groups)});
}

Numbers grouped(Random& random) { return append(channelGroups(random), {static_cast<double>(number(random, 0, 1))}); }

Numbers normalise(Random& random) { return append(grouped(random), {1e-3, static_cast<double>(number(random, 0, 2)) / 2}); }

// Ranges often begin and end with the blocks of layouts.
Numbers copyChannels(Random& random) {
  const auto d = [](std::int64_t value) { return static_cast<double>(value); };
  const std::int64_t count = someChannels(random);
  const auto side = [&]() -> Numbers {
    const std::int64_t first = number(random, 0, 1) * someChannels(random), after = number(random, 0, 1) * someChannels(random);
    return {d(first + count + after), d(first), 0};
  };
  const Numbers pixels{d(number(random, 1, 2)), d(number(random, 1, 5)), d(number(random, 1, 6)), d(count)};
  return append(append(append(pixels, side()), side()), {d(number(random, 0, 1))});
}

// Fewer of the channels, or fewer channels among more.
Numbers shiftChannels(Random& random) {
  const auto d = [](std::int64_t value) { return static_cast<double>(value); };
  const std::int64_t inner = someChannels(random), first = number(random, 0, 1) * someChannels(random),
                     outer = first + inner + number(random, 0, 1) * someChannels(random);
  const bool narrows = number(random, 0, 1) == 0;
  return {d(number(random, 1, 2)), d(narrows ? inner : outer), d(number(random, 1, 5)), d(number(random, 1, 6)), 0, 0,
          d(narrows ? outer : inner), d(narrows ? first : -first)};
}

Numbers dropout(Random& random) {
  const Numbers t = tile(random);
  return append(t, {t[1], t[2] + 1, t[3] + 2, static_cast<double>(number(random, 0, 1000)), 0.5 * fraction(random)});
}

// All of the input, so that every output finds what it is made of; a gradient may be of a part.
Numbers resampled(Random& random, bool backward) {
  const auto number = [&](std::int64_t least, std::int64_t most) { return static_cast<double>(test::number(random, least, most)); };
  const double height = number(1, 9), width = number(1, 9), outHeight = number(1, 12), outWidth = number(1, 12);
  const double above = backward ? number(0, 1) : 0, beside = backward ? number(0, 1) : 0;
  return {number(1, 2),
          static_cast<double>(someChannels(random)),
          height,
          width,
          outHeight,
          outWidth,
          0,
          height + above,
          width + beside,
          outHeight + number(0, 1),
          outWidth + number(0, 1)};
}

Numbers resize(Random& random, bool backward) {
  const std::int64_t mode = number(random, 0, 2);
  return append(resampled(random, backward), {mode == 0 ? 0.0 : 1.0, mode == 2 ? 1.0 : 0.0});
}

// All of the input and any part of the output; a gradient may be of any part of the input.
Numbers padded(Random& random, bool backward) {
  const std::int64_t mode = number(random, 0, 2);
  const auto d = [](std::int64_t value) { return static_cast<double>(value); };
  struct Extent {
    std::int64_t in, fullIn, out, fullOut, before;
  };
  const auto axis = [&]() -> Extent {
    const std::int64_t in = number(random, 1, 9), full = in + (backward ? number(random, 0, 1) : 0);
    const std::int64_t most = mode == 1 ? std::min<std::int64_t>(full - 1, 4) : 4;
    const std::int64_t before = number(random, 0, most), out = full + before + number(random, 0, most);
    return {in, full, number(random, 1, out), out, before};
  };
  const Extent h = axis(), w = axis();
  return {d(number(random, 1, 2)), d(someChannels(random)), d(h.in), d(w.in), d(h.out), d(w.out), 0, d(h.fullIn), d(w.fullIn),
          d(h.fullOut), d(w.fullOut), d(h.before), d(w.before), d(mode)};
}

// Either tile may reach beyond the other.
Numbers pixelShuffle(Random& random) {
  const auto d = [](std::int64_t value) { return static_cast<double>(value); };
  const std::int64_t factor = number(random, 1, 4);
  const double channels = d(factor > 2 ? number(random, 1, 9) : someChannels(random));
  const Numbers fine{d(number(random, 1, 2)), channels, d(number(random, 1, 9)), d(number(random, 1, 9))};
  const Numbers coarse{d(number(random, 1, 4)), d(number(random, 1, 4))};
  return append(append(fine, coarse),
                {d(factor), d(number(random, 0, factor - 1)), d(number(random, 0, factor - 1)), 0, 0, d(number(random, 0, 1))});
}

Numbers classified(Random& random) {
  const Numbers t = tile(random);
  return append(t, {t[2] + static_cast<double>(number(random, 0, 2)), t[3] + static_cast<double>(number(random, 0, 2))});
}

Numbers probabilities(Random& random) {
  return append(classified(random), {static_cast<double>(number(random, 0, 1) == 0 ? 255 : 0), static_cast<double>(number(random, 0, 1))});
}

// alpha, beta, smooth, scale of a Tversky index.
Numbers index(Random& random) { return {fraction(random), fraction(random), 1, fraction(random)}; }

Numbers loadImage(Random& random) {
  Numbers t = tile(random);
  t[1] = static_cast<double>(number(random, 1, 4));
  Numbers loaded = append(t, {t[2] + 1, t[3] + 2, 2 * t[1]});
  for (double channel = 0; channel < t[1]; ++channel) loaded = append(loaded, {0.4 + channel / 10, 0.2 + channel / 10});
  return loaded;
}

Numbers fieldsOf(KernelKind kind, Random& random) {
  const auto count = [&](std::int64_t most) { return static_cast<double>(number(random, 1, most)); };
  switch (kind) {
    case KernelKind::convolutionForward:
      return append(convolution(random), {static_cast<double>(number(random, 0, 2)) / 2});
    case KernelKind::convolutionBackwardData:
    case KernelKind::convolutionBackwardWeights:
      return convolution(random);
    case KernelKind::reorderWeights:
    case KernelKind::castWeights: {
      const double groups = count(3);
      return {groups * count(20), groups * count(20), count(3), count(3), groups, 0, 0};
    }
    case KernelKind::sliceWeights: {
      const double out = count(20), in = count(20), firstOut = count(20) - 1, firstIn = count(20) - 1;
      return {out, in, count(3), count(3), 1, 0, 0, firstOut + out + count(20) - 1, firstIn + in + count(20) - 1, firstOut, firstIn};
    }
    case KernelKind::reorderActivation:
      return append(tile(random), {0});
    case KernelKind::rectifierForward:
    case KernelKind::rectifierBackward:
      return {count(200), number(random, 0, 1) == 0 ? 0 : 0.1};
    case KernelKind::maxPoolForward:
    case KernelKind::maxPoolBackward:
      return append(window(random, someChannels(random), true), {0});
    case KernelKind::averagePoolForward:
    case KernelKind::averagePoolBackward:
      return averagePool(random);
    case KernelKind::globalAveragePoolForward:
    case KernelKind::globalAveragePoolBackward:
      return append(tile(random), {fraction(random)});
    case KernelKind::linearForward:
    case KernelKind::linearBackwardData:
    case KernelKind::linearBackwardWeights:
      return {count(3), count(300), count(20)};
    case KernelKind::dropout:
      return dropout(random);
    case KernelKind::softmaxCrossEntropyForward:
    case KernelKind::softmaxCrossEntropyBackward: {
      const double batch = count(3);
      return {batch, count(10), batch + 1};
    }
    case KernelKind::meanSquaredErrorForward:
    case KernelKind::meanSquaredErrorBackward:
      return append(strided(random), {count(100)});
    case KernelKind::momentsForward:
      return grouped(random);
    case KernelKind::mergeMoments:
    case KernelKind::mergeMaxima:
    case KernelKind::addSums:
      return {count(40), count(5)};
    case KernelKind::momentsOfRunning:
      return {count(40)};
    case KernelKind::updateRunning:
      return {count(40), fraction(random)};
    case KernelKind::normaliseForward:
    case KernelKind::normaliseBackwardReduce:
      return normalise(random);
    case KernelKind::normalisedConvolutionForward:
      return append(normalise(random), {count(40), 0, static_cast<double>(number(random, 0, 2)) / 2});
    case KernelKind::normalisedConvolutionBackwardWeights:
      return append(normalise(random), {count(40), 0});
    case KernelKind::normaliseParameters:
      return {count(3), count(40)};
    case KernelKind::normaliseBackward:
      return append(normalise(random), {static_cast<double>(number(random, 0, 1))});
    case KernelKind::addForward:
      return {count(200), static_cast<double>(number(random, 0, 2)) / 2};
    case KernelKind::copyChannels:
      return copyChannels(random);
    case KernelKind::pointwiseForward:
    case KernelKind::pointwiseBackward:
      return append(pointwiseTile(random), expression(random, kind == KernelKind::pointwiseBackward));
    case KernelKind::pointwiseSum:
      return append(append(pointwiseTile(random), {static_cast<double>(number(random, 0, 2))}), expression(random, true));
    case KernelKind::resizeForward:
    case KernelKind::resizeBackward:
      return resize(random, kind == KernelKind::resizeBackward);
    case KernelKind::adaptivePoolForward:
    case KernelKind::adaptivePoolBackward:
      return resampled(random, kind == KernelKind::adaptivePoolBackward);
    case KernelKind::padForward:
    case KernelKind::padBackward:
      return padded(random, kind == KernelKind::padBackward);
    case KernelKind::pixelShuffle:
      return pixelShuffle(random);
    case KernelKind::channelShuffle:
      return channelGroups(random);
    case KernelKind::shiftChannels:
      return shiftChannels(random);
    case KernelKind::globalMaxPoolForward:
    case KernelKind::globalMaxPoolBackward:
      return classified(random);
    case KernelKind::addBias:
    case KernelKind::sumBias:
      return tile(random);
    case KernelKind::pixelCrossEntropyForward:
    case KernelKind::pixelCrossEntropyBackward:
      return append(classified(random), {static_cast<double>(number(random, 0, 1) == 0 ? 255 : 0)});
    case KernelKind::classLossForward:
      return append(probabilities(random), expression(random, false));
    case KernelKind::classLossBackward:
      return append(append(probabilities(random), index(random)), expression(random, true));
    case KernelKind::sumOverlaps:
      return probabilities(random);
    case KernelKind::overlapLoss:
      return append({count(3), count(20)}, index(random));
    case KernelKind::valueLossForward:
      return append(strided(random), expression(random, false));
    case KernelKind::valueLossBackward:
      return append(strided(random), expression(random, true));
    case KernelKind::argmaxChannels:
      return classified(random);
    case KernelKind::copyBox:
      return copyBox(random);
    case KernelKind::packTile:
    case KernelKind::unpackAddTile:
      return strided(random);
    case KernelKind::zero:
      return {count(100)};
    case KernelKind::loadImage:
      return loadImage(random);
    case KernelKind::sgd:
      return {count(200), 2 * fraction(random), 0.01, number(random, 0, 1) == 0 ? 0 : 0.9};
    case KernelKind::adam:
      return {count(200), 2 * fraction(random), 0.01, 0.9, 0.999, 1e-8, static_cast<double>(number(random, 0, 1))};
    case KernelKind::sumSquares:
    case KernelKind::squareRoot:
      return {count(200)};
    case KernelKind::clipGradient:
      return {count(200), 0.1 + 2 * fraction(random)};
  }
  return {};
}

void setField(Kernel& kernel, const char* name, double value) {
  const auto& fields = kernelInfo(kernel.kind).fields;
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (std::strcmp(fields[i], name) == 0) kernel.fields[i] = value;
}

void setField(Kernel& kernel, const char* name, Layout layout) { setField(kernel, name, static_cast<double>(static_cast<int>(layout))); }

// Blocks of channels are for processors: a GPU takes its own layout and the plain one.
Layout anyActivation(Device& device, Random& random) {
  if (!device.properties()) {
    const std::int64_t layout = number(random, 0, 3);
    return layout == 3 ? Layout::nhwc : static_cast<Layout>(layout);
  }
  return number(random, 0, 1) == 0 ? Layout::plain : device.activationLayout(64, false);
}

Kernel convolutionIn(Kernel kernel, Device& device, Random& random) {
  const auto c = decode<Convolution>(kernel);
  // The network's input is plain, and its gradient may be wanted all the same.
  const bool input = number(random, 0, 3) == 0;
  setField(kernel, "sourceLayout", device.activationLayout(c.inChannels, input));
  setField(kernel, "destinationLayout", device.activationLayout(c.outChannels, false));
  Kernel forward = kernel;
  forward.kind = KernelKind::convolutionForward;
  const Device::WeightLayouts weights = device.weightLayouts(forward);
  setField(kernel, "weightLayout",
           kernel.kind == KernelKind::convolutionForward        ? weights.forward
           : kernel.kind == KernelKind::convolutionBackwardData ? weights.backwardData
                                                                : weights.stored);
  const std::vector<Algorithm> algorithms = device.algorithms(kernel);
  if (algorithms.empty()) return kernel;
  const auto any = static_cast<std::size_t>(number(random, 0, static_cast<std::int64_t>(algorithms.size()) - 1));
  setField(kernel, "algorithm", static_cast<double>(algorithms[any].code));
  return kernel;
}

bool normalisesOnLoad(KernelKind kind) {
  return kind == KernelKind::normalisedConvolutionForward || kind == KernelKind::normalisedConvolutionBackwardWeights;
}

Kernel normalisedConvolutionIn(Kernel kernel, Device& device) {
  setField(kernel, "layout", device.activationLayout(decode<NormalisedConvolution>(kernel).channels, false));
  const auto c = decode<NormalisedConvolution>(kernel);
  const Kernel plain = convolutionOf(KernelKind::normalisedConvolutionForward, c, wholeTile(c));
  const Device::WeightLayouts weights = device.weightLayouts(plain);
  setField(kernel, "weightLayout", kernel.kind == KernelKind::normalisedConvolutionForward ? weights.forward : weights.stored);
  return kernel;
}

Kernel reorderIn(Kernel kernel, Device& device, Random& random) {
  const auto r = decode<WeightReorder>(kernel);
  const auto d = [](std::int64_t value) { return static_cast<double>(value); };
  const Kernel plain{KernelKind::convolutionForward,
                     {1,
                      d(r.inChannels),
                      d(r.kernelHeight),
                      d(r.kernelWidth),
                      1,
                      1,
                      d(r.kernelHeight),
                      d(r.kernelWidth),
                      1,
                      1,
                      1,
                      1,
                      0,
                      0,
                      0,
                      0,
                      d(r.outChannels),
                      d(r.groups),
                      0,
                      0,
                      0,
                      0}};
  const Device::WeightLayouts weights = device.weightLayouts(convolutionIn(plain, device, random));
  switch (number(random, 0, 3)) {
    case 0:
      setField(kernel, "destinationLayout", weights.forward);
      break;
    case 1:
      setField(kernel, "sourceLayout", weights.stored);
      break;
    case 2:
      setField(kernel, "destinationLayout", weights.backwardData);
      break;
    default:
      setField(kernel, "sourceLayout", weights.stored);
      setField(kernel, "destinationLayout", weights.backwardData);
  }
  return kernel;
}

}  // namespace

std::int64_t number(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

bool hasKernel(KernelKind kind, Device& device) {
  if (!normalisesOnLoad(kind)) return true;
  if (device.properties()) return false;
  Random random(1);
  try {
    device.compile(normalisedConvolutionIn(randomKernel(kind, random), device));
    return true;
  } catch (const Failure&) {
    return false;
  }
}

Kernel randomKernel(KernelKind kind, Random& random) { return {kind, fieldsOf(kind, random)}; }

Kernel inLayouts(const Kernel& plain, Device& device, Random& random) {
  switch (plain.kind) {
    case KernelKind::convolutionForward:
    case KernelKind::convolutionBackwardData:
    case KernelKind::convolutionBackwardWeights:
      return convolutionIn(plain, device, random);
    case KernelKind::normalisedConvolutionForward:
    case KernelKind::normalisedConvolutionBackwardWeights:
      return normalisedConvolutionIn(plain, device);
    case KernelKind::reorderWeights:
    case KernelKind::castWeights:
      return reorderIn(plain, device, random);
    case KernelKind::sliceWeights:
      return plain;
    default: {
      Kernel kernel = plain;
      for (const char* name : {"layout", "sourceLayout", "destinationLayout"}) setField(kernel, name, anyActivation(device, random));
      return kernel;
    }
  }
}

}  // namespace tilefold::test
