#include "weights.hpp"

#include <array>
#include <cstring>

#include "../processor/parallel.hpp"
#include "../vectors/channel_squares.hpp"
#include "../vectors/vector_loops.hpp"
#include "../winograd/winograd.hpp"

namespace tilefold::cpu {
namespace {

// A square of channels at a time, so that neither side's lines are left and read again.
constexpr std::int64_t square = 16;

struct Square {
  std::int64_t out, in, outs, ins;
};

std::array<std::int64_t, square> offsets(const BlockedAxis& axis, std::int64_t begin, std::int64_t count) {
  std::array<std::int64_t, square> result{};
  for (std::int64_t i = 0; i < count; ++i) result[static_cast<std::size_t>(i)] = axis(begin + i);
  return result;
}

template <class T>
void copySquare(const float* source, const WeightStrides& from, T* destination, const WeightStrides& to, const Square& s,
                std::int64_t taps) {
  const auto fromOut = offsets(from.out, s.out, s.outs), toOut = offsets(to.out, s.out, s.outs);
  const auto fromIn = offsets(from.in, s.in, s.ins), toIn = offsets(to.in, s.in, s.ins);
  const auto outs = static_cast<std::size_t>(s.outs), ins = static_cast<std::size_t>(s.ins);
  for (std::int64_t tap = 0; tap < taps; ++tap)
    for (std::size_t i = 0; i < ins; ++i) {
      const float* read = source + fromIn[i] + tap * from.tapStride;
      T* write = destination + toIn[i] + tap * to.tapStride;
      for (std::size_t o = 0; o < outs; ++o) write[toOut[o]] = T(read[fromOut[o]]);
    }
}

// Whole squares, from [in][out].
template <std::int64_t Side>
void transposeSquare(const float* source, float* destination) {
  forProcessor([=]() TILEFOLD_INLINED { transposeSquareRows<Side>(source, destination, Side); });
}

// Two neighbouring rows make words of two numbers.
TILEFOLD_INLINE void castPairsOfRows(const float* source, Bfloat16* destination) {
  using Row = Lanes<square>;
  for (std::int64_t row = 0; row < square; row += 2)
    Row::putWords(destination + row * square, Row::at(source + row * square), Row::at(source + (row + 1) * square));
}

void castToPairsOfInputs(const float* source, Bfloat16* destination) {
  forProcessor([=]() TILEFOLD_INLINED { castPairsOfRows(source, destination); });
}

void castToPairsOfOutputs(const float* source, Bfloat16* destination) {
  forProcessor([=]() TILEFOLD_INLINED {
    float transposed[square * square];
    transposeSquareRows<square>(source, transposed, square);
    castPairsOfRows(transposed, destination);
  });
}

// What copies whole squares of `side` channels from one layout to the other; null where they do not
// lie together on both sides, [in][out] on the first.
template <class T>
struct SquareCopy {
  std::int64_t side;
  void (*copy)(const float*, T*);
};
template <class T>
SquareCopy<T> squareCopy(const WeightStrides& from, const WeightStrides& to) {
  const auto isOf = [&](std::int64_t side) {
    const bool blocks = from.out.block == side && from.in.block == side && to.out.block % side == 0 && to.in.block % side == 0;
    return blocks && from.out.inner == 1 && from.in.inner == side;
  };
  const auto transposes = [&](std::int64_t side) { return isOf(side) && to.in.inner == 1 && to.out.inner == side; };
  if constexpr (std::is_same_v<T, Bfloat16>)
    return {square, !isOf(square) ? nullptr : to.in.pair == 2 ? castToPairsOfInputs : to.out.pair == 2 ? castToPairsOfOutputs : nullptr};
  else
    return transposes(8) ? SquareCopy<T>{8, transposeSquare<8>}
                         : SquareCopy<T>{square, transposes(square) ? transposeSquare<square> : nullptr};
}

template <class T>
Launch reorderAs(const WeightReorder& r) {
  if (r.sourceLayout == r.destinationLayout) {
    const std::int64_t count =
        weightElements(r.sourceLayout, r.outChannels, r.inChannels / r.groups, r.kernelHeight, r.kernelWidth, r.groups);
    return [=](const std::vector<Operand>& operands, const StepParameters&) {
      const float* source = elements<const float>(operands, 0);
      T* destination = elements<T>(operands, 1);
      constexpr std::int64_t grain = 16384;  // elements
      parallelRanges(count, grain,
                     [&](std::int64_t begin, std::int64_t end) { convert(source + begin, destination + begin, end - begin); });
    };
  }
  const std::int64_t taps = r.kernelHeight * r.kernelWidth, outs = r.outChannels / r.groups, ins = r.inChannels / r.groups;
  const WeightStrides from = weightStrides(r.sourceLayout, r.outChannels, r.inChannels, r.groups, taps);
  const WeightStrides to = weightStrides(r.destinationLayout, r.outChannels, r.inChannels, r.groups, taps);
  const auto [side, copyWhole] = squareCopy<T>(from, to);
  const bool padded = to.elements != r.outChannels * ins * taps;
  const std::int64_t rows = (outs + side - 1) / side, columns = (ins + side - 1) / side, groups = r.groups;
  return [=, side = side, copyWhole = copyWhole](const std::vector<Operand>& operands, const StepParameters&) {
    const float* source = elements<const float>(operands, 0);
    T* destination = elements<T>(operands, 1);
    if (padded) std::memset(static_cast<void*>(destination), 0, static_cast<std::size_t>(to.elements) * sizeof(T));
    parallelFor(groups * rows * columns, [&](std::int64_t index) {
      const std::int64_t group = index / (rows * columns), row = index / columns % rows, column = index % columns;
      const Square s{row * side, column * side, std::min(side, outs - row * side), std::min(side, ins - column * side)};
      if (copyWhole != nullptr && s.outs == side && s.ins == side) {
        const float* first = source + from.group(group) + from.out(s.out) + from.in(s.in);
        T* written = destination + to.group(group) + to.out(s.out) + to.in(s.in);
        for (std::int64_t tap = 0; tap < taps; ++tap) copyWhole(first + tap * from.tapStride, written + tap * to.tapStride);
        return;
      }
      copySquare(source + from.group(group), from, destination + to.group(group), to, s, taps);
    });
  };
}

}  // namespace

Launch reorderWeights(const WeightReorder& r) {
  return layoutInfo(r.destinationLayout).transformed() ? transformWeights(r) : reorderAs<float>(r);
}

Launch sliceWeights(const WeightSlice& s) {
  if (layoutInfo(s.destinationLayout).transformed()) return transformSlice(s);
  const std::int64_t taps = s.kernelHeight * s.kernelWidth;
  const WeightStrides from = weightStrides(s.sourceLayout, s.sourceOutChannels, s.sourceInChannels, 1, taps);
  const WeightStrides to = weightStrides(s.destinationLayout, s.outChannels, s.inChannels, 1, taps);
  const bool padded = to.elements != s.outChannels * s.inChannels * taps;
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const float* source = elements<const float>(operands, 0);
    float* destination = elements(operands, 1);
    if (padded) std::memset(static_cast<void*>(destination), 0, static_cast<std::size_t>(to.elements) * sizeof(float));
    parallelFor(s.outChannels, [&](std::int64_t out) {
      for (std::int64_t in = 0; in < s.inChannels; ++in) {
        const float* read = source + from.out(s.firstOut + out) + from.in(s.firstIn + in);
        float* write = destination + to.out(out) + to.in(in);
        for (std::int64_t tap = 0; tap < taps; ++tap) write[tap * to.tapStride] = read[tap * from.tapStride];
      }
    });
  };
}

template <class T>
Launch castWeights(const WeightReorder& r) {
  return reorderAs<T>(r);
}
template Launch castWeights<float>(const WeightReorder&);
template Launch castWeights<Bfloat16>(const WeightReorder&);

}  // namespace tilefold::cpu
