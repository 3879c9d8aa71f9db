#include "correlation.hpp"

#include <array>

#include "../processor/parallel.hpp"
#include "../processor/processor.hpp"
#include "../vectors/constants.hpp"
#include "amx.hpp"
#include "division.hpp"
#include "loops.hpp"

namespace tilefold::cpu {
namespace {

// A tap of a row of results: where its first result's packed pixel lies, and its weights.
struct Tap {
  std::int64_t packed, weights;
};

// One or two groups of neighbouring results of a row.
struct Groups {
  std::int64_t count, first;                         // first: of all groups of a job, in order
  std::array<std::int64_t, amxGroupsAtOnce> result;  // where the first result of each lies
  std::int64_t results, step;                        // how many there are of each, elements apart
  std::int64_t apart;                                // packed pixels, of the two
  std::size_t taps, tapsEnd;
};

// What one job sums.
class Job {
 public:
  Job(const AmxGeometry& g, const AmxDivision& d, std::int64_t index)
      : g_(g),
        d_(d),
        part_(shareOf(d.blocks, index % d.parts, d.parts)),
        segment_(shareOf(d.groupPairs, index / d.parts % d.segments, d.segments)),
        columns_(d.columnsOf(g, segment_)),
        rows_(shareOf(d.height, index / d.parts / d.segments % d.bands, d.bands)),
        image_(index / d.parts / d.segments / d.bands),
        rowsRead_(g.rowsRead(rows_)) {
    for (std::int64_t y = rows_.begin; y < rows_.end; ++y)
      for (const AmxPhase& phase : g.phases) listGroups(y, phase);
  }

  void run(const Bfloat16* operand, const Bfloat16* weights, const float* bias, float slope, Bfloat16* result, Bfloat16* packed,
           float* sums) const {
    const auto rows = static_cast<std::uint8_t>(d_.groupSize);
    const amx::Registers registers({rows, rows, rows, rows, rows, rows, amx::registerRows, amx::registerRows});
    for (std::int64_t first = 0; first < d_.pairs; first += d_.pairsAtOnce) {
      const Share pairs{first, std::min(first + d_.pairsAtOnce, d_.pairs)};
      pack(operand, pairs, packed);
      for (std::int64_t block = part_.begin; block < part_.end; ++block)
        for (const Groups& groups : groups_) {
          const std::int64_t blocks = std::min<std::int64_t>(amxBlocksAtOnce, g_.sides.result.blocks() - block * amxBlocksAtOnce);
          withConstant<1, amxBlocksAtOnce>(blocks, [&](auto blocksOf) {
            withConstant<1, amxGroupsAtOnce>(groups.count, [&](auto groupsOf) {
              add<decltype(blocksOf)::value, decltype(groupsOf)::value>(groups, block, pairs, packed, weights, bias, slope, result, sums);
            });
          });
        }
    }
  }

 private:
  void listGroups(std::int64_t y, const AmxPhase& phase) {
    const std::int64_t width = g_.columnsOf(phase), results = std::min(d_.groupSize, width);
    const std::int64_t count = std::min(segment_.end * amxGroupsAtOnce, ceilDivide(width, d_.groupSize));
    const auto begin = [&](std::int64_t group) { return d_.begin(width, group); };
    for (std::int64_t group = segment_.begin * amxGroupsAtOnce; group < count; group += amxGroupsAtOnce) {
      Groups groups{std::min<std::int64_t>(amxGroupsAtOnce, count - group),
                    groupCount_,
                    {},
                    results,
                    phase.step * g_.sides.result.pixelStride,
                    0,
                    taps_.size(),
                    0};
      groupCount_ += groups.count;
      for (std::int64_t i = 0; i < groups.count; ++i)
        groups.result[static_cast<std::size_t>(i)] =
            y * g_.sides.result.rowStride + (phase.first + begin(group + i) * phase.step) * g_.sides.result.pixelStride;
      const std::int64_t first = begin(group), last = begin(group + groups.count - 1);
      groups.apart = (last - first) * g_.operandStep;
      listTaps(y, phase, first, last + results - 1);
      groups.tapsEnd = taps_.size();
      groups_.push_back(groups);
    }
  }

  // Those that give something to one of the results first .. last.
  void listTaps(std::int64_t y, const AmxPhase& phase, std::int64_t first, std::int64_t last) {
    const std::int64_t width = columnsRead();
    for (std::int64_t row = 0; row < g_.sides.rows.kernel; ++row) {
      const std::optional<std::int64_t> operandRow = g_.sides.operandRow(y, row);
      if (!operandRow) continue;
      const std::int64_t packedRow = std::lower_bound(rowsRead_.begin(), rowsRead_.end(), *operandRow) - rowsRead_.begin();
      for (const AmxColumnTap& tap : phase.taps) {
        if (last * g_.operandStep + tap.offset < 0 || first * g_.operandStep + tap.offset >= g_.sides.operandWidth()) continue;
        taps_.push_back({packedRow * width + (first - columns_.begin) * g_.operandStep + tap.offset - g_.least,
                         (row * g_.sides.columns.kernel + tap.tap) * amxMatrix});
      }
    }
  }

  std::int64_t columnsRead() const { return g_.columnsRead(columns_.end - columns_.begin); }

  // [pair of blocks][row that is read][column, padding included][32 channels]
  void pack(const Bfloat16* operand, const Share& pairs, Bfloat16* to) const {
    const ActivationStrides& from = g_.sides.operand;
    const std::int64_t left = columns_.begin * g_.operandStep + g_.least, width = columnsRead();
    const std::int64_t begin = std::clamp<std::int64_t>(left, 0, g_.sides.operandWidth());
    const std::int64_t end = std::clamp<std::int64_t>(left + width, begin, g_.sides.operandWidth());
    for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair)
      for (const std::int64_t row : rowsRead_) {
        const Bfloat16* first =
            operand + image_ * from.batchStride + 2 * pair * from.blockStride + row * from.rowStride + begin * from.pixelStride;
        const std::int64_t before = std::clamp<std::int64_t>(begin - left, 0, width);
        packBlocks(nullptr, nullptr, before, to);
        packBlocks(first, 2 * pair + 1 < from.blocks() ? first + from.blockStride : nullptr, end - begin, to + before * amxRow);
        packBlocks(nullptr, nullptr, width - before - (end - begin), to + (before + end - begin) * amxRow);
        to += width * amxRow;
      }
  }

  template <int Blocks, int Count>
  void add(const Groups& groups, std::int64_t block, const Share& pairs, const Bfloat16* packed, const Bfloat16* weights, const float* bias,
           float slope, Bfloat16* result, float* sums) const {
    constexpr std::int64_t sumBytes = amxLanes * static_cast<std::int64_t>(sizeof(float));
    float* const kept = sums + ((block - part_.begin) * groupCount_ + groups.first) * amxBlocksAtOnce * amxSums;
    const auto keptAt = [=](std::int64_t ofBlock, std::int64_t group) { return kept + (ofBlock * Count + group) * amxSums; };
    amx::forSums<Count, Blocks>([&](auto sum, std::int64_t group, std::int64_t ofBlock) {
      if (pairs.begin == 0)
        amx::zero<decltype(sum)::value>();
      else
        amx::load<decltype(sum)::value>(keptAt(ofBlock, group), sumBytes);
    });
    const std::int64_t taps = g_.sides.rows.kernel * g_.sides.columns.kernel;
    const std::int64_t packedPair = static_cast<std::int64_t>(rowsRead_.size()) * columnsRead() * amxRow;
    const std::int64_t blockMatrices = d_.pairs * taps * amxMatrix, stride = g_.operandStep * amx::rowBytes;
    const Bfloat16* matrices = weights + block * amxBlocksAtOnce * blockMatrices + pairs.begin * taps * amxMatrix;
    for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair, packed += packedPair, matrices += taps * amxMatrix)
      for (std::size_t t = groups.taps; t < groups.tapsEnd; ++t) {
        const Bfloat16* pixels = packed + taps_[t].packed * amxRow;
        const Bfloat16* matrix = matrices + taps_[t].weights;
        amx::addProducts<Count, Blocks>(pixels, pixels + groups.apart * amxRow, stride, matrix, matrix + blockMatrices);
      }
    const bool isLast = pairs.end == d_.pairs;
    amx::forSums<Count, Blocks>([&](auto sum, std::int64_t group, std::int64_t ofBlock) {
      if (!isLast) return amx::store<decltype(sum)::value>(keptAt(ofBlock, group), sumBytes);
      alignas(64) std::array<float, amxSums> rows;
      amx::store<decltype(sum)::value>(rows.data(), sumBytes);
      const std::int64_t own = block * amxBlocksAtOnce + ofBlock;
      Bfloat16* first = result + image_ * g_.sides.result.batchStride + own * g_.sides.result.blockStride;
      roundSums(rows.data(), bias == nullptr ? nullptr : bias + own * amxLanes, slope, groups.results,
                first + groups.result[static_cast<std::size_t>(group)], groups.step);
    });
  }

  const AmxGeometry& g_;
  const AmxDivision& d_;
  Share part_, segment_, columns_, rows_;
  std::int64_t image_, groupCount_ = 0;
  std::vector<std::int64_t> rowsRead_;
  std::vector<Groups> groups_;
  std::vector<Tap> taps_;
};

// What each thread has of the scratch, in bytes.
struct ScratchLayout {
  std::int64_t packed, bytes;

  ScratchLayout(const AmxGeometry& g, const AmxDivision& d) {
    const std::int64_t row = checkedMultiply(g.columnsRead(d.segmentColumns), amx::rowBytes);
    packed = checkedMultiply(checkedMultiply(d.pairsAtOnce, d.rowsRead), row);
    bytes = packed;
    if (d.pairsAtOnce < d.pairs)
      bytes =
          checkedAdd(bytes, checkedMultiply(checkedMultiply(ceilDivide(d.blocks, d.parts), d.groups(g)), amxBlocksAtOnce * amxSums * 4));
  }
};

}  // namespace

Layout amxWeightLayout(KernelKind kind) { return kind == KernelKind::convolutionForward ? Layout::OIhw16i16o2i : Layout::IOhw16o16i2o; }

bool fitsAmxCorrelation(KernelKind kind, const Convolution& c) {
  return kind != KernelKind::convolutionBackwardWeights && multipliesMatrices() && isInBlocksOf16(c) &&
         c.weightLayout == amxWeightLayout(kind);
}

std::size_t amxCorrelationScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  const AmxGeometry geometry(c, kind == KernelKind::convolutionForward);
  return static_cast<std::size_t>(checkedMultiply(threads, ScratchLayout(geometry, AmxDivision(c, geometry, threads)).bytes));
}

Launch compileAmxCorrelation(KernelKind kind, const Convolution& c, int threads) {
  const bool forward = kind == KernelKind::convolutionForward;
  const AmxGeometry geometry(c, forward);
  const AmxDivision division(c, geometry, threads);
  const ScratchLayout scratch(geometry, division);
  const auto slope = static_cast<float>(forward ? c.slope : 1);
  return [=](const std::vector<Operand>& operands, const StepParameters&) {
    const std::vector<float> bias = wholeBlocks(forward ? elements<const float>(operands, 2) : nullptr, c.outChannels);
    std::byte* const memory = operands[forward ? 4 : 3].address;
    parallelFor(division.jobs(), [&](std::int64_t index) {
      std::byte* const own = memory + omp_get_thread_num() * scratch.bytes;
      Job(geometry, division, index)
          .run(elements<const Bfloat16>(operands, 0), elements<const Bfloat16>(operands, 1), bias.empty() ? nullptr : bias.data(), slope,
               elements<Bfloat16>(operands, forward ? 3 : 2), reinterpret_cast<Bfloat16*>(own),
               reinterpret_cast<float*>(own + scratch.packed));
    });
  };
}

}  // namespace tilefold::cpu
