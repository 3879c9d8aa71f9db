#include "normalisation.hpp"

#include "../../kernels/normalisation.hpp"
#include "../../reference/block_loop.hpp"
#include "../processor/parallel.hpp"
#include "../vectors/vector_loops.hpp"
#include "loops.hpp"

namespace tilefold::cpu {
namespace {

// A tile's planes (one of each block of channels of each image) cut into ranges of pixels.
class Pieces {
 public:
  explicit Pieces(const Tile& t) : planes_(reference::planesOf(t)), pixels_(t.height * t.width), plain_(planes_.block == 1) {
    constexpr std::int64_t grain = 65536;    // elements
    constexpr std::int64_t maxSums = 16384;  // of single lanes, where planes are cut at all
    const std::int64_t wanted = (pixels_ * planes_.block + grain - 1) / grain;
    perPlane_ = std::clamp<std::int64_t>(maxSums / planes_.block / planes_.count, 1, wanted);
  }

  std::int64_t count() const { return planes_.count * perPlane_; }
  std::int64_t perPlane() const { return perPlane_; }
  const reference::Planes& planes() const { return planes_; }
  // Where a plane's channel begins.
  std::int64_t firstOf(std::int64_t plane, std::int64_t channel) const {
    return plane * pixels_ * planes_.block + channel - planes_.firstChannel(plane);
  }

  // visit(strip, its first element, lane of the plane that its first lane is): plain pixels make
  // lanes of one channel.
  template <class Visit>
  void forStrips(std::int64_t piece, const Visit& visit) const {
    const std::int64_t plane = piece / perPlane_;
    const Share share = shareOf(pixels_, piece % perPlane_, perPlane_);
    const std::int64_t first = (plane * pixels_ + share.begin) * planes_.block, pixels = share.end - share.begin;
    if (plain_) {
      const std::int64_t whole = pixels / laneCount, rest = pixels % laneCount;
      visit(Strip{whole, laneCount, laneCount}, first, 0);
      if (rest > 0) visit(Strip{1, laneCount, rest}, first + whole * laneCount, 0);
    } else {
      for (std::int64_t lane = 0; lane < planes_.block; lane += laneCount)
        visit(Strip{pixels, planes_.block, std::min(laneCount, planes_.block - lane)}, first + lane, lane);
    }
  }

  // set(lane, of(channel)) for the lanes of a strip of this plane that hold channels.
  template <class Of, class Set>
  void forLanes(std::int64_t plane, std::int64_t firstLane, const Of& of, const Set& set) const {
    const std::int64_t channel = planes_.firstChannel(plane) + firstLane;
    if (plain_) {
      const auto value = of(channel);
      for (std::int64_t lane = 0; lane < laneCount; ++lane) set(lane, value);
    } else {
      const std::int64_t lanes = std::min(laneCount, planes_.lanes(plane) - firstLane);
      for (std::int64_t lane = 0; lane < lanes; ++lane) set(lane, of(channel + lane));
    }
  }

  // Two sums of each channel of a plane, which add(strip, first element, plane, lane, sums) forms
  // of one strip; take(plane, channel, sums) gets those of the whole plane, in order.
  struct Sums {
    double first = 0, second = 0;
  };
  template <class Add, class Take>
  void sum(const Add& add, const Take& take) const {
    const std::int64_t lanes = planes_.block;
    std::vector<Sums> sums(static_cast<std::size_t>(count() * lanes));
    parallelFor(count(), [&](std::int64_t piece) {
      Sums* const own = sums.data() + piece * lanes;
      forStrips(piece, [&](const Strip& strip, std::int64_t first, std::int64_t lane) {
        LaneSums of;
        add(strip, first, piece / perPlane_, lane, of);
        for (std::int64_t i = 0; i < strip.lanes; ++i) {
          Sums& to = own[plain_ ? 0 : lane + i];
          to.first += of.first[i];
          to.second += of.second[i];
        }
      });
    });
    for (std::int64_t plane = 0; plane < planes_.count; ++plane)
      for (std::int64_t lane = 0; lane < planes_.lanes(plane); ++lane) {
        Sums total;
        for (std::int64_t piece = plane * perPlane_; piece < (plane + 1) * perPlane_; ++piece) {
          total.first += sums[static_cast<std::size_t>(piece * lanes + lane)].first;
          total.second += sums[static_cast<std::size_t>(piece * lanes + lane)].second;
        }
        take(plane, planes_.firstChannel(plane) + lane, total);
      }
  }

 private:
  reference::Planes planes_;
  std::int64_t pixels_;
  bool plain_;
  std::int64_t perPlane_ = 1;
};

template <class T>
using Operands = NormaliseOperands<T>;

template <class T>
LaneNormalisers laneNormalisers(const Normalise& n, const Operands<T>& operands, const Pieces& pieces, std::int64_t plane,
                                std::int64_t firstLane) {
  LaneNormalisers result;
  result.slope = static_cast<float>(n.slope);
  pieces.forLanes(
      plane, firstLane, [&](std::int64_t channel) { return operands.normaliser(n, pieces.planes().image(plane), channel); },
      [&](std::int64_t lane, const Normaliser<float>& normaliser) {
        result.mean[lane] = normaliser.mean;
        result.scale[lane] = normaliser.scale;
        result.shift[lane] = normaliser.shift;
      });
  return result;
}

struct ChannelGradient {
  double gradient = 0, source = 0, constant = 0;
};

// As in Normaliser, what the mean lost to rounding is in the constant.
template <class T>
ChannelGradient channelGradient(const Normalise& n, const Operands<T>& operands, const GradientSums* sums, std::int64_t image,
                                std::int64_t channel) {
  const Moments& row = operands.row(n, image, channel);
  const double scale = row.reciprocalDeviation(n.epsilon);
  const GradientSums mean = sums == nullptr ? GradientSums{} : meanGradients(n, operands, sums, image, channel);
  const double source = -scale * scale * mean.product, lost = operands.normaliser(n, image, channel).lost(row);
  return {scale * operands.weight(channel), source, -scale * mean.gradient - source * lost};
}

template <class T>
LaneGradients laneGradients(const Normalise& n, const Operands<T>& operands, const GradientSums* sums, const Pieces& pieces,
                            std::int64_t plane, std::int64_t firstLane) {
  LaneGradients result;
  result.add = n.add;
  pieces.forLanes(
      plane, firstLane, [&](std::int64_t channel) { return channelGradient(n, operands, sums, pieces.planes().image(plane), channel); },
      [&](std::int64_t lane, const ChannelGradient& of) {
        result.gradient[lane] = static_cast<float>(of.gradient);
        result.source[lane] = static_cast<float>(of.source);
        result.constant[lane] = static_cast<float>(of.constant);
      });
  return result;
}

}  // namespace

template <class T>
Launch momentsForward(const GroupedTile& t) {
  const Pieces pieces(t);
  const double pixels = static_cast<double>(t.height * t.width);
  return [t, pieces, pixels](const std::vector<Operand>& operands, const StepParameters&) {
    const T* source = elements<const T>(operands, 0);
    Moments* moments = elements<Moments>(operands, 1);
    // Deviations from a channel's first value: of data far from zero the mean's square would take
    // the variance's digits.
    pieces.sum(
        [&](const Strip& strip, std::int64_t first, std::int64_t plane, std::int64_t firstLane, LaneSums& sums) {
          float origin[laneCount] = {};
          pieces.forLanes(
              plane, firstLane, [&](std::int64_t channel) { return static_cast<float>(source[pieces.firstOf(plane, channel)]); },
              [&](std::int64_t lane, float value) { origin[lane] = value; });
          addDeviations(strip, source + first, origin, sums);
        },
        [&](std::int64_t plane, std::int64_t channel, const Pieces::Sums& sums) {
          const double origin = static_cast<double>(static_cast<float>(source[pieces.firstOf(plane, channel)]));
          const double apart = sums.first / pixels, deviations = sums.second - sums.first * apart;
          moments[statisticsRow(t, pieces.planes().image(plane), channel)].merge(
              {pixels, origin + apart, deviations < 0 ? 0 : deviations});
        });
  };
}

template <class T>
Launch normaliseForward(const Normalise& n) {
  const Pieces pieces(n);
  return [n, pieces](const std::vector<Operand>& operands, const StepParameters&) {
    const Operands<T> from{elements<const T>(operands, 0), elements<const Moments>(operands, 1), elements<const float>(operands, 2),
                        elements<const float>(operands, 3), nullptr};
    T* destination = elements<T>(operands, 4);
    parallelFor(pieces.count(), [&](std::int64_t piece) {
      pieces.forStrips(piece, [&](const Strip& strip, std::int64_t first, std::int64_t lane) {
        normalise(strip, laneNormalisers(n, from, pieces, piece / pieces.perPlane(), lane), from.source + first, destination + first);
      });
    });
  };
}

template <class T>
Launch normaliseBackwardReduce(const Normalise& n) {
  const Pieces pieces(n);
  return [n, pieces](const std::vector<Operand>& operands, const StepParameters&) {
    const Operands<T> from{elements<const T>(operands, 0), elements<const Moments>(operands, 1), elements<const float>(operands, 2),
                        elements<const float>(operands, 3), elements<const T>(operands, 4)};
    GradientSums* sums = elements<GradientSums>(operands, 5);
    pieces.sum(
        [&](const Strip& strip, std::int64_t first, std::int64_t plane, std::int64_t lane, LaneSums& own) {
          addGradients(strip, laneNormalisers(n, from, pieces, plane, lane), from.source + first, from.gradient + first, own);
        },
        [&](std::int64_t plane, std::int64_t channel, const Pieces::Sums& own) {
          const std::int64_t image = pieces.planes().image(plane);
          const Moments& row = from.row(n, image, channel);
          const double lost = from.normaliser(n, image, channel).lost(row), scale = row.reciprocalDeviation(n.epsilon);
          sums[channelRow(n, image, channel)].add({own.first, scale * (own.second - lost * own.first)});
        });
  };
}

template <class T>
Launch normaliseBackward(const Normalise& n) {
  const Pieces pieces(n);
  return [n, pieces](const std::vector<Operand>& operands, const StepParameters&) {
    const Operands<T> from{elements<const T>(operands, 0), elements<const Moments>(operands, 1), elements<const float>(operands, 2),
                        elements<const float>(operands, 3), elements<const T>(operands, 5)};
    const GradientSums* sums = elements<const GradientSums>(operands, 4);
    T* sourceGradient = elements<T>(operands, 6);
    // Where neither sums nor a rectifier ask for it, x is not read: its coefficients are 0.
    const T* source = sums == nullptr && n.slope == 1 ? from.gradient : from.source;
    parallelFor(pieces.count(), [&](std::int64_t piece) {
      const std::int64_t plane = piece / pieces.perPlane();
      pieces.forStrips(piece, [&](const Strip& strip, std::int64_t first, std::int64_t lane) {
        const LaneNormalisers normalisers = laneNormalisers(n, from, pieces, plane, lane);
        const LaneGradients gradients = laneGradients(n, from, sums, pieces, plane, lane);
        normaliseGradient(strip, normalisers, gradients, source + first, from.gradient + first, sourceGradient + first);
      });
    });
  };
}

#define TILEFOLD_INSTANTIATE(T)                                      \
  template Launch momentsForward<T>(const GroupedTile&);             \
  template Launch normaliseForward<T>(const Normalise&);             \
  template Launch normaliseBackwardReduce<T>(const Normalise&);      \
  template Launch normaliseBackward<T>(const Normalise&);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
