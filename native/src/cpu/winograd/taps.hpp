// Weights of 3x3 as transforms take them, from any layout that is not transformed.
#pragma once
#include "../operands/strides.hpp"
#include "../processor/prefetch.hpp"
#include "../vectors/channel_squares.hpp"
#include "vectors.hpp"

namespace tilefold::cpu::winograd {

// Squares of pairs of channels: operand channel by operand channel, the result's lie together.
template <int Width>
class TapReader {
 public:
  TapReader(const float* weights, const WeightStrides& strides, bool forward)
      : weights_(weights),
        tapStride_(strides.tapStride),
        result_(forward ? strides.out : strides.in),
        operand_(forward ? strides.in : strides.out),
        forward_(forward) {}

  // [tap][Width] of every operand channel, `step` floats apart; backward, the taps go back.
  void read(std::int64_t operandBlock, std::int64_t resultBlock, float* vectors, std::int64_t step) const {
    if (!isSquare()) return readEach(operandBlock, resultBlock, vectors, step);
    const float* first = squareOf(operandBlock, resultBlock);
    forWidth<Width>([=]() TILEFOLD_INLINED {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        float* to = vectors + placeOf(tap) * Width;
        if (result_.inner == 1)
          copySquareRows<Width>(first + tap * tapStride_, to, step);
        else
          transposeSquareRows<Width>(first + tap * tapStride_, to, step);
      }
    });
  }

  // The same where they lie: use(the first vector, strides). Where they must be turned it is of a
  // copy in `room`.
  template <class Use>
  void with(std::int64_t operandBlock, std::int64_t resultBlock, float* room, const Use& use) const {
    const float* first = squareOf(operandBlock, resultBlock);
    if (isSquare() && result_.inner == 1 && forward_) return use(first, TapStrides{operand_.inner, tapStride_});
    read(operandBlock, resultBlock, room, taps * Width);
    use(room, TapStrides{taps * Width, Width});
  }
  // Into the second-level cache.
  void prefetch(std::int64_t operandBlock, std::int64_t resultBlock) const {
    if (!isSquare()) return;
    const float* first = squareOf(operandBlock, resultBlock);
    constexpr std::int64_t line = 64 / sizeof(float);
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t i = 0; i < Width * Width; i += line) cpu::prefetch<2>(first + tap * tapStride_ + i);
  }

 private:
  const float* squareOf(std::int64_t operandBlock, std::int64_t resultBlock) const {
    return weights_ + operand_(operandBlock * Width) + result_(resultBlock * Width);
  }
  std::int64_t placeOf(std::int64_t tap) const { return forward_ ? tap : taps - 1 - tap; }
  // Whether the channels of both blocks lie together.
  bool isSquare() const {
    return result_.block == Width && operand_.block == Width && result_.inner * operand_.inner == Width &&
           (result_.inner == 1 || operand_.inner == 1);
  }
  void readEach(std::int64_t operandBlock, std::int64_t resultBlock, float* vectors, std::int64_t step) const {
    for (std::int64_t channel = 0; channel < Width; ++channel)
      for (std::int64_t lane = 0; lane < Width; ++lane) {
        const float* from = weights_ + operand_(operandBlock * Width + channel) + result_(resultBlock * Width + lane);
        for (std::int64_t tap = 0; tap < taps; ++tap) vectors[channel * step + placeOf(tap) * Width + lane] = from[tap * tapStride_];
      }
  }

  const float* weights_;
  std::int64_t tapStride_;
  BlockedAxis result_, operand_;
  bool forward_;
};

}  // namespace tilefold::cpu::winograd
