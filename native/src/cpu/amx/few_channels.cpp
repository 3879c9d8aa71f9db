#include "few_channels.hpp"

#include <array>

#include "../processor/parallel.hpp"
#include "../processor/processor.hpp"
#include "../vectors/constants.hpp"
#include "amx.hpp"
#include "division.hpp"
#include "loops.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t packedBytes = 256 * 1024;  // that should stay in a core's second cache
constexpr std::int64_t leastRows = 4;             // of a band: fewer would pack the same rows too often

// Bands of rows of the results, and the packed rows that one reads: pixels that lie side by side,
// padding included.
struct Bands {
  Sides sides;
  std::int64_t perPixel, row, count, rows, blocks;

  Bands(const Convolution& c, int threads)
      : sides(sidesOf(c, true)), perPixel(roundUp(c.inChannels, layoutInfo(c.weightLayout).in)), blocks(sides.result.blocks()) {
    const WindowAxis &down = sides.rows, &across = sides.columns;
    row = checkedMultiply((across.out - 1) * across.stride + across.kernel, perPixel);
    const std::int64_t fitting = packedBytes / (row * static_cast<std::int64_t>(sizeof(Bfloat16)));
    const std::int64_t height =
        std::clamp<std::int64_t>((fitting - down.kernel * down.dilation) / down.stride, leastRows, down.out + leastRows);
    count = std::min(down.out, roundUp(ceilDivide(down.out, height), threads));
    rows = rowsRead(ceilDivide(down.out, count));
  }

  std::int64_t rowsRead(std::int64_t results) const {
    return (results - 1) * sides.rows.stride + (sides.rows.kernel - 1) * sides.rows.dilation + 1;
  }
  std::int64_t elements() const { return checkedMultiply(rows, row); }
};

// A band of one image.
class Job {
 public:
  Job(const Bands& bands, const Convolution& c, std::int64_t index)
      : b_(bands),
        channels_(c.inChannels),
        slope_(static_cast<float>(c.slope)),
        image_(index / bands.count),
        rows_(shareOf(bands.sides.rows.out, index % bands.count, bands.count)),
        top_(rows_.begin * bands.sides.rows.stride - bands.sides.rows.padBefore),
        groupSize_(amxGroupSize(bands.sides.columns.out)) {}

  void run(const Bfloat16* source, const Bfloat16* weights, const float* bias, Bfloat16* result, Bfloat16* packed) const {
    pack(source, packed);
    const auto rows = static_cast<std::uint8_t>(groupSize_);
    const auto pairs = static_cast<std::uint8_t>(kernelRow() / 2), bytes = static_cast<std::uint8_t>(2 * kernelRow());
    constexpr auto whole = static_cast<std::uint8_t>(amx::rowBytes);
    const amx::Registers registers({rows, rows, rows, rows, rows, rows, pairs, pairs},
                                   {whole, whole, whole, whole, bytes, bytes, whole, whole});
    const std::int64_t groups = ceilDivide(b_.sides.columns.out, groupSize_);
    for (std::int64_t y = rows_.begin; y < rows_.end; ++y)
      for (std::int64_t group = 0; group < groups; group += amxGroupsAtOnce)
        for (std::int64_t block = 0; block < b_.blocks; block += amxBlocksAtOnce)
          withConstant<1, amxBlocksAtOnce>(std::min<std::int64_t>(amxBlocksAtOnce, b_.blocks - block), [&](auto blocksOf) {
            withConstant<1, amxGroupsAtOnce>(std::min<std::int64_t>(amxGroupsAtOnce, groups - group), [&](auto groupsOf) {
              add<decltype(blocksOf)::value, decltype(groupsOf)::value>(y, group, block, packed, weights, bias, result);
            });
          });
  }

 private:
  // Numbers that a row of the kernel reads.
  std::int64_t kernelRow() const { return b_.sides.columns.kernel * b_.perPixel; }

  void pack(const Bfloat16* source, Bfloat16* to) const {
    const ActivationStrides& from = b_.sides.operand;
    const WindowAxis& across = b_.sides.columns;
    const std::int64_t width = b_.row / b_.perPixel;
    const std::int64_t begin = std::clamp<std::int64_t>(across.padBefore, 0, width);
    const std::int64_t end = std::clamp(across.in + across.padBefore, begin, width);
    const std::int64_t rows = b_.rowsRead(rows_.end - rows_.begin);
    for (std::int64_t row = 0; row < rows; ++row, to += b_.row) {
      if (top_ + row < 0 || top_ + row >= b_.sides.rows.in) continue;
      std::fill_n(to, begin * b_.perPixel, Bfloat16(0));
      packPlanes(source + image_ * from.batchStride + (top_ + row) * from.rowStride + begin - across.padBefore, from.laneStride, channels_,
                 b_.perPixel, end - begin, to + begin * b_.perPixel);
      std::fill(to + end * b_.perPixel, to + b_.row, Bfloat16(0));
    }
  }

  template <int Blocks, int Count>
  void add(std::int64_t y, std::int64_t group, std::int64_t block, const Bfloat16* packed, const Bfloat16* weights, const float* bias,
           Bfloat16* result) const {
    const WindowAxis &down = b_.sides.rows, &across = b_.sides.columns;
    amx::forSums<Count, Blocks>([](auto sum, std::int64_t, std::int64_t) { amx::zero<decltype(sum)::value>(); });
    const auto begin = [&](std::int64_t of) { return amxGroupBegin(of, groupSize_, across.out); };
    const std::int64_t pixelElements = across.stride * b_.perPixel, stride = pixelElements * static_cast<std::int64_t>(sizeof(Bfloat16));
    const std::int64_t apart = Count == 2 ? (begin(group + 1) - begin(group)) * pixelElements : 0;
    const std::int64_t rowMatrix = kernelRow() * amxLanes, blockMatrices = down.kernel * rowMatrix;
    for (std::int64_t tap = 0; tap < down.kernel; ++tap) {
      const std::optional<std::int64_t> row = down.input(y, tap);
      if (!row) continue;
      const Bfloat16* pixels = packed + (*row - top_) * b_.row + begin(group) * pixelElements;
      const Bfloat16* matrix = weights + block * blockMatrices + tap * rowMatrix;
      amx::addProducts<Count, Blocks>(pixels, pixels + apart, stride, matrix, matrix + blockMatrices);
    }
    amx::forSums<Count, Blocks>([&](auto sum, std::int64_t ofGroup, std::int64_t ofBlock) {
      alignas(64) std::array<float, amxSums> sums;
      amx::store<decltype(sum)::value>(sums.data(), amx::rowBytes);
      const ActivationStrides& to = b_.sides.result;
      const std::int64_t ownBlock = block + ofBlock, first = begin(group + ofGroup);
      roundSums(sums.data(), bias == nullptr ? nullptr : bias + ownBlock * amxLanes, slope_, groupSize_,
                result + image_ * to.batchStride + ownBlock * to.blockStride + y * to.rowStride + first * to.pixelStride, to.pixelStride);
    });
  }

  const Bands& b_;
  std::int64_t channels_;
  float slope_;
  std::int64_t image_;
  Share rows_;
  std::int64_t top_, groupSize_;  // top_: the first packed row's place in the image
};

}  // namespace

bool fitsAmxFewChannels(KernelKind kind, const Convolution& c) {
  return kind == KernelKind::convolutionForward && multipliesMatrices() && c.groups == 1 && c.sourceLayout == Layout::plain &&
         c.destinationLayout == Layout::nChw16c && c.weightLayout == Layout::Ohwi16o2i && c.dilationWidth == 1 &&
         c.kernelWidth * roundUp(c.inChannels, layoutInfo(c.weightLayout).in) <= amxRow;
}

std::size_t amxFewChannelsScratchBytes(const Convolution& c, int threads) {
  return static_cast<std::size_t>(checkedMultiply(checkedMultiply(threads, Bands(c, threads).elements()), sizeof(Bfloat16)));
}

Launch compileAmxFewChannels(const Convolution& c, int threads) {
  return [=, bands = Bands(c, threads)](const std::vector<Operand>& operands, const StepParameters&) {
    const std::vector<float> bias = wholeBlocks(elements<const float>(operands, 2), c.outChannels);
    parallelFor(c.batch * bands.count, [&](std::int64_t index) {
      Job(bands, c, index)
          .run(elements<const Bfloat16>(operands, 0), elements<const Bfloat16>(operands, 1), bias.empty() ? nullptr : bias.data(),
               elements<Bfloat16>(operands, 3), elements<Bfloat16>(operands, 4) + omp_get_thread_num() * bands.elements());
    });
  };
}

}  // namespace tilefold::cpu
