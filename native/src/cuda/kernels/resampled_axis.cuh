// One axis of a resize or an adaptive pool, as resampling.hpp has it, on the device: no tables, and
// no division by what a launch knows.
#pragma once
#include "../../kernels/resampling.hpp"
#include "divisor.cuh"
#include "window_axis.cuh"

namespace tilefold::cuda {

// Output o of the whole axis stands at (step o + shift) / denominator of the inputs, not below 0.
// Coordinates are those of the tiles.
template <Resampling kind>
class AxisOfResampling {
 public:
  explicit AxisOfResampling(const ResampledAxis& a)
      : fullIn_(a.fullIn),
        fullOut_(a.fullOut),
        source_(a.source),
        destination_(a.destination),
        out_(a.out),
        step_(stepOf(a)),
        shift_(kind == Resampling::bilinear ? a.fullIn - a.fullOut : 0),
        denominator_(denominatorOf(a)),
        inverse_(1 / static_cast<double>(denominator_)),
        byStep_(std::max<std::int64_t>(step_, 1)),
        byDenominator_(denominator_) {}

  // ResampledAxis::reading: inputs from `from` on, and their weights, of an output.
  template <class Real>
  struct Inputs {
    std::int64_t from;
    int count;
    Real first, others;
    __device__ Real weight(int k) const { return k == 0 ? first : others; }
  };

  template <class Real>
  __device__ Inputs<Real> inputs(std::int64_t output) const {
    const std::int64_t position = positionOf(destination_ + output);
    const Division place = byDenominator_(position);
    if constexpr (kind == Resampling::nearest) return {place.quotient - source_, 1, 1, 0};
    if constexpr (kind == Resampling::adaptive) {
      const auto count = static_cast<int>(endOf(position) - place.quotient);
      const auto share = static_cast<Real>(1 / static_cast<double>(count));
      return {place.quotient - source_, count, share, share};
    }
    const std::int64_t last = fullIn_ - 1, from = (place.quotient < last ? place.quotient : last) - source_;
    if (place.remainder == 0 || place.quotient >= last) return {from, 1, 1, 0};
    const double fraction = static_cast<double>(place.remainder) * inverse_;
    return {from, 2, static_cast<Real>(1 - fraction), static_cast<Real>(fraction)};
  }

  // ResampledAxis::transposed: the outputs from `from` on that read an input, and the weights it
  // has in them.
  template <class Real>
  struct Outputs {
    std::int64_t from;
    int count;
    // Where outputs before the first input, and behind the last, are taken to stand.
    std::int32_t least, most;
    const AxisOfResampling& axis;
    // The first output's, seen from the input where outputs stand between inputs.
    std::int64_t position;

    __device__ Real weight(int k) const {
      if constexpr (kind == Resampling::nearest) return 1;
      if constexpr (kind == Resampling::adaptive) {
        const std::int64_t own = position + k * axis.step_;
        return static_cast<Real>(1 / static_cast<double>(axis.endOf(own) - axis.byDenominator_(own).quotient));
      }
      // Nearer than the next input, which is 2^31 away at most.
      auto distance = static_cast<std::int32_t>(position + k * axis.step_);
      distance = distance < least ? least : distance;
      distance = distance > most ? most : distance;
      const auto apart = static_cast<Real>(distance);
      return static_cast<Real>(1) - (apart < 0 ? -apart : apart) * static_cast<Real>(axis.inverse_);
    }
  };

  template <class Real>
  __device__ Outputs<Real> outputs(std::int64_t input) const {
    const std::int64_t i = source_ + input;
    const std::int64_t first = (isBetween ? firstAfter(i) : firstTo(i)) - destination_;
    const std::int64_t end = (i == fullIn_ - 1 ? fullOut_ : firstFrom(i + 1)) - destination_;
    const std::int64_t from = first > 0 ? first : 0, to = end < out_ ? end : out_;
    const std::int64_t position = step_ * (destination_ + from) + shift_ - (isBetween ? i * denominator_ : 0);
    const std::int32_t least = i == 0 ? 0 : INT32_MIN, most = i == fullIn_ - 1 ? 0 : INT32_MAX;
    return {from, to > from ? static_cast<int>(to - from) : 0, least, most, *this, position};
  }

  // How many inputs an output has at most, and how many outputs read an input, of the whole axis.
  std::int64_t maxInputs() const {
    const std::int64_t most = kind == Resampling::nearest ? 1 : kind == Resampling::adaptive ? (fullIn_ - 1) / fullOut_ + 2 : 2;
    return std::min(most, fullIn_);
  }
  std::int64_t maxOutputs() const {
    if (step_ == 0) return fullOut_;
    // Outputs stand step_ apart: from their input to the next one, or from the one before it.
    const std::int64_t most = ((isBetween ? 2 : 1) * denominator_ - 1) / step_ + (kind == Resampling::adaptive ? 2 : 1);
    return std::min(most, fullOut_);
  }

 private:
  static constexpr bool isBetween = kind == Resampling::bilinear || kind == Resampling::alignedCorners;

  static std::int64_t stepOf(const ResampledAxis& a) {
    if (kind == Resampling::alignedCorners) return a.fullOut == 1 ? 0 : a.fullIn - 1;
    return kind == Resampling::bilinear ? 2 * a.fullIn : a.fullIn;
  }
  static std::int64_t denominatorOf(const ResampledAxis& a) {
    if (kind == Resampling::alignedCorners) return std::max<std::int64_t>(a.fullOut - 1, 1);
    return kind == Resampling::bilinear ? 2 * a.fullOut : a.fullOut;
  }

  __device__ std::int64_t positionOf(std::int64_t output) const {
    const std::int64_t position = step_ * output + shift_;
    return position > 0 ? position : 0;
  }
  // Of an adaptive output at this position: the first input behind its own.
  __device__ std::int64_t endOf(std::int64_t position) const { return byDenominator_(position + step_ + denominator_ - 1).quotient; }

  // The first output that stands at input `i` or behind it.
  __device__ std::int64_t firstFrom(std::int64_t i) const {
    const std::int64_t distance = i * denominator_ - shift_;
    if (step_ == 0) return i > 0 ? fullOut_ : 0;
    return distance > 0 ? byStep_(distance + step_ - 1).quotient : 0;
  }
  // The first whose last input is `i` or one behind it: of nearest the one that stands there, of
  // adaptive the one that reaches over it.
  __device__ std::int64_t firstTo(std::int64_t i) const {
    return kind == Resampling::nearest ? firstFrom(i) : byStep_(i * denominator_).quotient;
  }
  // The first that stands behind input i - 1: it is made of `i`, and so are those up to the next
  // input.
  __device__ std::int64_t firstAfter(std::int64_t i) const {
    const std::int64_t distance = (i - 1) * denominator_ - shift_;
    if (i == 0) return 0;
    if (step_ == 0) return fullOut_;
    return distance >= 0 ? byStep_(distance).quotient + 1 : 0;
  }

  std::int64_t fullIn_, fullOut_, source_, destination_, out_, step_, shift_, denominator_;
  double inverse_;
  Divisor byStep_, byDenominator_;
};

}  // namespace tilefold::cuda
