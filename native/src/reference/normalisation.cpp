// Statistics of a tile, and normalisation by them: batch, group and instance normalisation in any
// layout.
#include "../kernels/normalisation.hpp"
#include "../kernels/rectifier.hpp"
#include "block_loop.hpp"
#include "compiled.hpp"
#include "families.hpp"

namespace tilefold::reference {
namespace {

// visit(image, channel, first element, distance between pixels) for every channel of every image.
template <class Visit>
void forChannels(const Tile& t, const Visit& visit) {
  const Planes planes = planesOf(t);
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t image = 0; image < t.batch; ++image)
    for (std::int64_t channel = 0; channel < t.channels; ++channel) {
      const std::int64_t plane = image * planes.blocks + channel / planes.block;
      visit(image, channel, plane * t.height * t.width * planes.block + channel % planes.block, planes.block);
    }
}

// Channels that only pad a block.
template <class T>
void zeroPadding(const Tile& t, T* destination) {
  const Planes planes = planesOf(t);
  const std::int64_t pixels = t.height * t.width;
  for (std::int64_t plane = 0; plane < planes.count; ++plane)
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel)
      for (std::int64_t lane = planes.lanes(plane); lane < planes.block; ++lane)
        destination[(plane * pixels + pixel) * planes.block + lane] = 0;
}

// y's gradient before the rectifier.
template <class T>
T unrectified(const Normalise& n, const Normaliser<T>& normaliser, T x, T gradient) {
  return rectified(normaliser(x), gradient, static_cast<T>(n.slope));
}

// Merges the tile's moments, found in two passes, into those that are there; one row each group.
template <class T>
void momentsForward(const GroupedTile& t, const T* source, Moments* moments) {
  const std::int64_t pixels = t.height * t.width;
  std::vector<Moments> channels(static_cast<std::size_t>(t.batch * t.channels));
  forChannels(t, [&](std::int64_t image, std::int64_t channel, std::int64_t first, std::int64_t step) {
    Moments own{static_cast<double>(pixels)};
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) own.mean += static_cast<double>(source[first + pixel * step]);
    own.mean /= own.count;
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      const double apart = static_cast<double>(source[first + pixel * step]) - own.mean;
      own.deviations += apart * apart;
    }
    channels[static_cast<std::size_t>(image * t.channels + channel)] = own;
  });
  for (std::int64_t image = 0; image < t.batch; ++image)
    for (std::int64_t channel = 0; channel < t.channels; ++channel)
      moments[statisticsRow(t, image, channel)].merge(channels[static_cast<std::size_t>(image * t.channels + channel)]);
}

// Parts of all ranks, in their order.
void mergeMoments(const MergeParts& m, const Moments* source, Moments* moments) {
  for (std::int64_t row = 0; row < m.rows; ++row) {
    Moments merged;
    for (std::int64_t part = 0; part < m.parts; ++part) merged.merge(source[part * m.rows + row]);
    moments[row] = merged;
  }
}

void addSums(const AddSums& s, const double* source, double* sums) {
  for (std::int64_t at = 0; at < s.count; ++at) {
    double sum = 0;
    for (std::int64_t part = 0; part < s.parts; ++part) sum += source[part * s.count + at];
    sums[at] = sum;
  }
}

// Of count 1, so that the variance is the sum of squared deviations.
template <class T>
void momentsOfRunning(const ChannelCount& c, const T* mean, const T* variance, Moments* moments) {
  for (std::int64_t channel = 0; channel < c.channels; ++channel)
    moments[channel] = {1, static_cast<double>(mean[channel]), static_cast<double>(variance[channel])};
}

// As torch.nn.BatchNorm2d: running = (1 - momentum) running + momentum batch, the batch's variance
// over count - 1.
template <class T>
void updateRunning(const UpdateRunning& u, const Moments* moments, T* mean, T* variance) {
  const auto mix = [&](T running, double batch) {
    return static_cast<T>((1 - u.momentum) * static_cast<double>(running) + u.momentum * batch);
  };
  for (std::int64_t channel = 0; channel < u.channels; ++channel) {
    const Moments& batch = moments[channel];
    mean[channel] = mix(mean[channel], batch.mean);
    variance[channel] = mix(variance[channel], batch.deviations / (batch.count - 1));
  }
}

template <class T>
void normaliseForward(const Normalise& n, const NormaliseOperands<T>& operands, T* destination) {
  const auto slope = static_cast<ParameterOf<T>>(n.slope);
  zeroPadding(n, destination);
  forChannels(n, [&](std::int64_t image, std::int64_t channel, std::int64_t first, std::int64_t step) {
    const Normaliser<ParameterOf<T>> normaliser = operands.normaliser(n, image, channel);
    for (std::int64_t pixel = 0; pixel < n.height * n.width; ++pixel) {
      destination[first + pixel * step] = rectified(normaliser(operands.source[first + pixel * step]), slope);
    }
  });
}

// Adds to the sums [images][channels].
template <class T>
void normaliseBackwardReduce(const Normalise& n, const NormaliseOperands<T>& operands, GradientSums* sums) {
  std::vector<GradientSums> channels(static_cast<std::size_t>(n.batch * n.channels));
  forChannels(n, [&](std::int64_t image, std::int64_t channel, std::int64_t first, std::int64_t step) {
    const Moments& row = operands.row(n, image, channel);
    const Normaliser<ParameterOf<T>> normaliser = operands.normaliser(n, image, channel);
    const double scale = row.reciprocalDeviation(n.epsilon);
    GradientSums own;
    for (std::int64_t at = first; at < first + n.height * n.width * step; at += step) {
      const double gradient = static_cast<double>(unrectified<ParameterOf<T>>(n, normaliser, operands.source[at], operands.gradient[at]));
      own.add({gradient, gradient * (static_cast<double>(operands.source[at]) - row.mean) * scale});
    }
    channels[static_cast<std::size_t>(image * n.channels + channel)] = own;
  });
  for (std::int64_t image = 0; image < n.batch; ++image)
    for (std::int64_t channel = 0; channel < n.channels; ++channel)
      sums[channelRow(n, image, channel)].add(channels[static_cast<std::size_t>(image * n.channels + channel)]);
}

// Either gradient may be absent.
template <class T>
void normaliseParameters(const NormaliseParameters& p, const GradientSums* sums, T* weightGradient, T* biasGradient) {
  for (std::int64_t channel = 0; channel < p.channels; ++channel) {
    GradientSums total;
    for (std::int64_t image = 0; image < p.images; ++image) total.add(sums[image * p.channels + channel]);
    if (weightGradient != nullptr) weightGradient[channel] = static_cast<T>(total.product);
    if (biasGradient != nullptr) biasGradient[channel] = static_cast<T>(total.gradient);
  }
}

// The gradient of Ioffe and Szegedy 2015, section 3, with means over a row's count; `sums` may be
// null: moments are constants. The gradients may be one.
template <class T>
void normaliseBackward(const Normalise& n, const NormaliseOperands<T>& operands, const GradientSums* sums, T* sourceGradient) {
  if (!n.add) zeroPadding(n, sourceGradient);
  forChannels(n, [&](std::int64_t image, std::int64_t channel, std::int64_t first, std::int64_t step) {
    const Moments& row = operands.row(n, image, channel);
    const Normaliser<ParameterOf<T>> normaliser = operands.normaliser(n, image, channel);
    const GradientSums mean = sums == nullptr ? GradientSums{} : meanGradients(n, operands, sums, image, channel);
    const double scale = row.reciprocalDeviation(n.epsilon), weight = operands.weight(channel);
    for (std::int64_t at = first; at < first + n.height * n.width * step; at += step) {
      const double normalised = (static_cast<double>(operands.source[at]) - row.mean) * scale;
      const double gradient = static_cast<double>(unrectified<ParameterOf<T>>(n, normaliser, operands.source[at], operands.gradient[at]));
      const auto change = static_cast<ParameterOf<T>>(scale * (weight * gradient - mean.gradient - normalised * mean.product));
      sourceGradient[at] = n.add ? sourceGradient[at] + change : change;
    }
  });
}

}  // namespace

template <class T>
std::unique_ptr<CompiledKernel> compileNormalisation(const Kernel& kernel) {
  using A = Arguments;
  using P = ParameterOf<T>;
  switch (kernel.kind) {
    case KernelKind::momentsForward:
      return compiled([t = decode<GroupedTile>(kernel)](const A& a) { momentsForward<T>(t, a.at<T>(0), a.at<Moments>(1)); });
    case KernelKind::mergeMoments:
      return compiled([m = decode<MergeParts>(kernel)](const A& a) { mergeMoments(m, a.at<Moments>(0), a.at<Moments>(1)); });
    case KernelKind::addSums:
      return compiled([s = decode<AddSums>(kernel)](const A& a) { addSums(s, a.at<double>(0), a.at<double>(1)); });
    case KernelKind::momentsOfRunning:
      return compiled([c = decode<ChannelCount>(kernel)](const A& a) { momentsOfRunning<P>(c, a.at<P>(0), a.at<P>(1), a.at<Moments>(2)); });
    case KernelKind::updateRunning:
      return compiled([u = decode<UpdateRunning>(kernel)](const A& a) { updateRunning<P>(u, a.at<Moments>(0), a.at<P>(1), a.at<P>(2)); });
    case KernelKind::normaliseForward:
      return compiled([n = decode<Normalise>(kernel)](const A& a) {
        normaliseForward<T>(n, {a.at<T>(0), a.at<Moments>(1), a.at<P>(2), a.at<P>(3), nullptr}, a.at<T>(4));
      });
    case KernelKind::normaliseBackwardReduce:
      return compiled([n = decode<Normalise>(kernel)](const A& a) {
        normaliseBackwardReduce<T>(n, {a.at<T>(0), a.at<Moments>(1), a.at<P>(2), a.at<P>(3), a.at<T>(4)}, a.at<GradientSums>(5));
      });
    case KernelKind::normaliseParameters:
      return compiled([p = decode<NormaliseParameters>(kernel)](const A& a) {
        normaliseParameters<P>(p, a.at<GradientSums>(0), a.at<P>(1), a.at<P>(2));
      });
    case KernelKind::normaliseBackward:
      return compiled([n = decode<Normalise>(kernel)](const A& a) {
        normaliseBackward<T>(n, {a.at<T>(0), a.at<Moments>(1), a.at<P>(2), a.at<P>(3), a.at<T>(5)}, a.at<GradientSums>(4), a.at<T>(6));
      });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileNormalisation)

}  // namespace tilefold::reference
