#include "expression.hpp"

#include <algorithm>
#include <array>

#include "../../kernels/launch_operands.hpp"
#include "../../reference/block_loop.hpp"
#include "../processor/parallel.hpp"
#include "../vectors/vector_loops.hpp"
#include "expression_loops.hpp"

namespace tilefold::cpu {
namespace {

using reference::Planes;
using Block = std::array<float, static_cast<std::size_t>(expressionBlock)>;

constexpr std::int64_t grain = 16384;  // elements

// Operands that an expression reads; null ones it does not.
template <class T>
using Operands = PointwiseOperands<T>;

// One value a channel, or an image and channel, as it lies under the elements of a block.
class Broadcast {
 public:
  // `step`: values of an image; 0 where all images share them.
  template <class T>
  void fill(const Planes& planes, std::int64_t pixels, std::int64_t step, const T* values, std::int64_t begin, std::int64_t count) {
    std::int64_t plane = begin / (pixels * planes.block), lane = begin % planes.block;
    std::int64_t left = (plane + 1) * pixels * planes.block - begin;
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t run = std::min(left, count - i), lanes = planes.lanes(plane);
      const T* const ofPlane = values + planes.image(plane) * step + planes.firstChannel(plane);
      for (std::int64_t end = i + run; i < end; ++i) {
        block_[static_cast<std::size_t>(i)] = lane < lanes ? static_cast<float>(ofPlane[lane]) : 0;
        if (++lane == planes.block) lane = 0;
      }
      ++plane;
      left = pixels * planes.block;
    }
  }
  void fillAll(float value) { block_.fill(value); }
  const float* data() const { return block_.data(); }

 private:
  Block block_{};
};

// An expression over the elements of a tile of T, block by block, in float.
template <class T>
class TileExpression {
 public:
  TileExpression(const PointwiseTile& p, const std::vector<double>& code)
      : tile_(p), expression_(code), planes_(reference::planesOf(p)), pixels_(p.height * p.width) {}

  const Planes& planes() const { return planes_; }
  std::int64_t pixels() const { return pixels_; }
  std::int64_t count() const { return planes_.count * pixels_ * planes_.block; }

  // visit(values, from, count) for the blocks of begin .. end - 1: values of `count` elements from
  // `from` on, whole blocks in the place of the destination, if there is one.
  template <class Visit>
  void forBlocks(const Operands<T>& operands, std::int64_t begin, std::int64_t end, T* destination, const Visit& visit) const {
    Broadcast second, weight, bias;
    Block parts[3]{}, result;
    if (operands.weight != nullptr && !tile_.weightPerChannel) weight.fillAll(operands.weight[0]);
    if (operands.bias != nullptr && !tile_.biasPerChannel) bias.fillAll(operands.bias[0]);
    for (std::int64_t from = begin; from < end; from += expressionBlock) {
      const std::int64_t count = std::min(expressionBlock, end - from);
      // The last block is computed whole all the same: vector functions round differently from
      // scalar ones.
      const auto elementsFrom = [&](const T* values, Block& part) -> const float* {
        if (values == nullptr) return nullptr;
        if constexpr (std::is_same_v<T, float>)
          if (count == expressionBlock) return values + from;
        convert(values + from, part.data(), count);
        return part.data();
      };
      if (operands.second != nullptr && tile_.broadcast) second.fill(planes_, pixels_, tile_.channels, operands.second, from, count);
      if (operands.weight != nullptr && tile_.weightPerChannel) weight.fill(planes_, pixels_, 0, operands.weight, from, count);
      if (operands.bias != nullptr && tile_.biasPerChannel) bias.fill(planes_, pixels_, 0, operands.bias, from, count);
      float* into = result.data();
      if constexpr (std::is_same_v<T, float>)
        if (destination != nullptr && count == expressionBlock) into = destination + from;
      evaluateBlock(expression_,
                    {elementsFrom(operands.input, parts[0]), tile_.broadcast ? second.data() : elementsFrom(operands.second, parts[1]),
                     elementsFrom(operands.gradient, parts[2]), weight.data(), bias.data()},
                    into);
      visit(into, from, count);
    }
  }

  void write(const Operands<T>& operands, T* destination) const {
    parallelRanges(count(), grain, [&](std::int64_t begin, std::int64_t end) {
      if constexpr (std::is_same_v<T, float>)
        if (expression_.known >= 0) {
          // It reads tiles alone, which lie as the destination does.
          const auto from = [begin](const float* values) { return values == nullptr ? nullptr : values + begin; };
          const std::int64_t whole = (end - begin) / expressionBlock * expressionBlock;
          evaluateKnown(expression_, {from(operands.input), nullptr, from(operands.gradient), nullptr, nullptr}, destination + begin, whole);
          begin += whole;
          if (begin == end) return;
        }
      forBlocks(operands, begin, end, destination, [&](const float* values, std::int64_t from, std::int64_t count) {
        if (!std::is_same_v<T, float> || count < expressionBlock) convert(values, destination + from, count);
      });
    });
    // Padding is zero, of which the function may make something else.
    if (planes_.channels % planes_.block == 0) return;
    parallelFor(planes_.count / planes_.blocks, [&](std::int64_t image) {
      const std::int64_t plane = (image + 1) * planes_.blocks - 1;
      for (std::int64_t pixel = plane * pixels_; pixel < (plane + 1) * pixels_; ++pixel)
        std::fill(destination + pixel * planes_.block + planes_.lanes(plane), destination + (pixel + 1) * planes_.block, T(0.0F));
    });
  }

 private:
  PointwiseTile tile_;
  BlockExpression expression_;
  Planes planes_;
  std::int64_t pixels_;
};

template <class T>
Operands<T> operandsOf(const std::vector<Operand>& operands, bool hasGradient) {
  // The gradient comes after what every expression has.
  return LaunchOperands{operands}.leaves(hasGradient ? elements<const T>(operands, 4) : nullptr);
}

// Sums of parameters' type, or of T.
template <class Sum>
void storeSums(const std::vector<double>& totals, Sum* sums) {
  std::transform(totals.begin(), totals.end(), sums, [](double total) { return static_cast<Sum>(total); });
}

}  // namespace

template <class T>
Launch pointwiseForward(const Pointwise& p) {
  return [expression = TileExpression<T>(p, p.expression)](const std::vector<Operand>& operands, const StepParameters&) {
    expression.write(operandsOf<T>(operands, false), elements<T>(operands, 4));
  };
}

template <class T>
Launch pointwiseBackward(const Pointwise& p) {
  return [expression = TileExpression<T>(p, p.expression)](const std::vector<Operand>& operands, const StepParameters&) {
    expression.write(operandsOf<T>(operands, true), elements<T>(operands, 5));
  };
}

template <class T>
Launch pointwiseSum(const PointwiseSum& s) {
  return [s, expression = TileExpression<T>(s, s.expression)](const std::vector<Operand>& operands, const StepParameters&) {
    const Operands<T> read = operandsOf<T>(operands, true);
    const Planes& planes = expression.planes();
    const std::int64_t perPiece = std::max<std::int64_t>(1, grain / planes.block), pixels = expression.pixels();
    const std::int64_t pieces = (pixels + perPiece - 1) / perPiece;
    std::vector<double> parts(static_cast<std::size_t>(planes.count * pieces * planes.block));
    parallelFor(planes.count * pieces, [&](std::int64_t index) {
      const std::int64_t plane = index / pieces, first = index % pieces * perPiece;
      const std::int64_t begin = (plane * pixels + first) * planes.block;
      const std::int64_t end = begin + std::min(perPiece, pixels - first) * planes.block;
      // A block may begin in the middle of a pixel, so lanes are counted from there.
      double* const lanes = parts.data() + index * planes.block;
      expression.forBlocks(read, begin, end, nullptr, [&](const float* values, std::int64_t from, std::int64_t count) {
        for (std::int64_t i = 0; i < count;) {
          const std::int64_t lane = (from + i - begin) % planes.block;
          const std::int64_t run = lane == 0 ? count - i : std::min(planes.block - lane, count - i);
          addToLanes(values + i, run, lanes + lane, lane == 0 ? planes.block : run);
          i += run;
        }
      });
    });
    std::vector<double> totals(static_cast<std::size_t>(sumCount(s)));
    for (std::int64_t row = 0; row < s.batch * s.channels; ++row) {
      const std::int64_t plane = row / s.channels * planes.blocks + row % s.channels / planes.block, lane = row % s.channels % planes.block;
      for (std::int64_t piece = 0; piece < pieces; ++piece)
        totals[static_cast<std::size_t>(row) % totals.size()] += parts[static_cast<std::size_t>((plane * pieces + piece) * planes.block + lane)];
    }
    if (rowsOf(s) == SumRows::imageChannels)
      storeSums(totals, elements<T>(operands, 5));
    else
      storeSums(totals, elements(operands, 5));
  };
}

#define TILEFOLD_INSTANTIATE(T)                              \
  template Launch pointwiseForward<T>(const Pointwise&);     \
  template Launch pointwiseBackward<T>(const Pointwise&);    \
  template Launch pointwiseSum<T>(const PointwiseSum&);
TILEFOLD_INSTANTIATE(float)
TILEFOLD_INSTANTIATE(Bfloat16)
#undef TILEFOLD_INSTANTIATE

}  // namespace tilefold::cpu
