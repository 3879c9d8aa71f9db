#include "amx_correlation.hpp"

#include <array>
#include <numeric>

#include "amx.hpp"
#include "amx_loops.hpp"
#include "constants.hpp"
#include "convolution_sides.hpp"
#include "parallel.hpp"
#include "processor.hpp"

namespace tilefold::cpu {
namespace {

constexpr std::int64_t packedBytes = 768 * 1024;      // of a core's second cache
constexpr std::int64_t fewRows = 4, fewColumns = 64;  // fewer would pack the same pixels too often
constexpr int blocksAtOnce = 2, groupsAtOnce = 2;     // of which registers hold the sums

// A tap of the columns: result j of a row reads column j * operandStep + offset of the operand.
struct ColumnTap {
  std::int64_t tap, offset;
};

// Columns first + j * step of the results, which the same taps give.
struct Phase {
  std::int64_t first, step;
  std::vector<ColumnTap> taps;
};

// The images as they are summed. Pixels that meet no others (1 x 1 kernels without strides or
// padding) are one row.
struct Geometry {
  Sides sides;
  std::int64_t operandStep, least = 0, most = 0;  // offsets
  std::int64_t columns;                           // of the longest phase
  std::vector<Phase> phases;

  Geometry(const Convolution& c, bool forward) : sides(sidesOf(c, forward)) {
    if (sides.rows.isPointwise() && sides.columns.isPointwise()) {
      sides.columns.in = sides.columns.out = sides.rows.in * sides.columns.in;
      sides.rows.in = sides.rows.out = 1;
    }
    const WindowAxis& axis = sides.columns;
    operandStep = forward ? axis.stride : 1;
    const std::int64_t count = forward ? 1 : axis.stride;
    columns = ceilDivide(sides.resultWidth(), count);
    for (std::int64_t first = 0; first < std::min(count, sides.resultWidth()); ++first) {
      Phase phase{first, count, {}};
      for (std::int64_t tap = 0; tap < axis.kernel; ++tap) {
        const std::int64_t shift = tap * axis.dilation - axis.padBefore;
        if (!forward && (shift - first) % count != 0) continue;
        const std::int64_t offset = forward ? shift : (first - shift) / count;
        // Taps so far out that no result of a row reads the image are left out.
        if (offset < sides.operandWidth() && (columns - 1) * operandStep + offset >= 0) phase.taps.push_back({tap, offset});
      }
      phases.push_back(phase);
    }
    bool any = false;
    for (const Phase& phase : phases)
      for (const ColumnTap& tap : phase.taps) {
        least = any ? std::min(least, tap.offset) : tap.offset;
        most = any ? std::max(most, tap.offset) : tap.offset;
        any = true;
      }
  }

  std::int64_t columnsOf(const Phase& phase) const { return ceilDivide(sides.resultWidth() - phase.first, phase.step); }
  // Of the operand, that so many results of a row read, padding included.
  std::int64_t columnsRead(std::int64_t count) const { return (count - 1) * operandStep + most - least + 1; }
  // Of the operand, in order, that rows begin .. end - 1 of the results read.
  std::vector<std::int64_t> rowsRead(const Share& rows) const {
    std::vector<std::int64_t> read;
    for (std::int64_t y = rows.begin; y < rows.end; ++y)
      for (std::int64_t tap = 0; tap < sides.rows.kernel; ++tap)
        if (const std::optional<std::int64_t> row = sides.operandRow(y, tap)) read.push_back(*row);
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    return read;
  }
};

// How results are shared: jobs take bands of rows of an image, or segments of those rows, or where
// there are few, a part of the blocks of channels. Which results are summed together, and in which
// order, is the same for any number of jobs.
struct Division {
  std::int64_t images, height, pairs, blocks;
  std::int64_t groupSize, groupPairs;  // neighbouring results of a row, summed in pairs of groups
  std::int64_t bands = 1, segments = 1, parts = 1;
  std::int64_t pairsAtOnce, rowsRead = 0, segmentColumns = 0;

  Division(const Convolution& c, const Geometry& g, int threads)
      : images(c.batch),
        height(g.sides.resultHeight()),
        pairs(ceilDivide(g.sides.operand.blocks(), 2)),
        blocks(ceilDivide(g.sides.result.blocks(), blocksAtOnce)),
        groupSize(ceilDivide(g.columns, ceilDivide(g.columns, amx::registerRows))),
        groupPairs(ceilDivide(ceilDivide(g.columns, groupSize), groupsAtOnce)) {
    const std::int64_t few = std::min(height, fewRows);
    const auto widthOf = [&](std::int64_t parts) { return ceilDivide(groupPairs, parts) * groupsAtOnce * groupSize; };
    const auto bytes = [&](std::int64_t rows, std::int64_t width) {
      return checkedMultiply(checkedMultiply(rowsReadBy(g, rows), g.columnsRead(width)), checkedMultiply(pairs, amx::rowBytes));
    };
    while (segments < groupPairs && widthOf(segments) > fewColumns && bytes(few, widthOf(segments)) > packedBytes) ++segments;
    bands = ceilDivide(height, few);
    while (bands > 1 && bytes(ceilDivide(height, bands - 1), widthOf(segments)) <= packedBytes) --bands;
    shareAmong(threads);
    const std::int64_t perPair = bytes(ceilDivide(height, bands), widthOf(segments)) / pairs;
    pairsAtOnce = std::clamp<std::int64_t>(packedBytes / perPair, 1, pairs);
    for (std::int64_t band = 0; band < bands; ++band)
      rowsRead = std::max(rowsRead, static_cast<std::int64_t>(g.rowsRead(shareOf(height, band, bands)).size()));
    for (std::int64_t segment = 0; segment < segments; ++segment) {
      const Share columns = columnsOf(g, shareOf(groupPairs, segment, segments));
      segmentColumns = std::max(segmentColumns, columns.end - columns.begin);
    }
  }

  std::int64_t jobs() const { return images * bands * segments * parts; }
  std::int64_t bandHeight() const { return ceilDivide(height, bands); }
  // Of a band, in a segment of all phases.
  std::int64_t groups(const Geometry& g) const {
    return checkedMultiply(bandHeight() * static_cast<std::int64_t>(g.phases.size()), ceilDivide(groupPairs, segments) * groupsAtOnce);
  }
  // Where a group begins among a phase's results: the last one sooner, and sums some results again,
  // if it would be shorter.
  std::int64_t begin(std::int64_t columns, std::int64_t group) const {
    return std::min(group * groupSize, std::max<std::int64_t>(0, columns - groupSize));
  }
  // Those whose operands are packed together.
  Share columnsOf(const Geometry& g, const Share& segment) const {
    Share columns{g.columns, 0};
    for (const Phase& phase : g.phases) {
      const std::int64_t width = g.columnsOf(phase), last = std::min(segment.end * groupsAtOnce, ceilDivide(width, groupSize)) - 1;
      if (segment.begin * groupsAtOnce > last) continue;
      columns.begin = std::min(columns.begin, begin(width, segment.begin * groupsAtOnce));
      columns.end = std::max(columns.end, begin(width, last) + groupSize);
    }
    return columns.begin < columns.end ? columns : Share{0, 1};
  }

 private:
  static std::int64_t rowsReadBy(const Geometry& g, std::int64_t rows) {
    const WindowAxis& a = g.sides.rows;
    const std::int64_t reach = (a.kernel - 1) * a.dilation;
    const std::int64_t spanned = g.sides.forward ? (rows - 1) * a.stride + reach + 1 : (rows - 1 + reach) / a.stride + 1;
    return std::min({spanned, rows * a.kernel, g.sides.forward ? a.in : a.out});
  }

  void shareAmong(std::int64_t threads) {
    const std::int64_t others = images * segments;
    if (others * bands % threads == 0) return;
    const std::int64_t multiple = threads / std::gcd(others, threads);
    if (roundUp(bands, multiple) <= height)
      bands = roundUp(bands, multiple);
    else if (const std::int64_t wanted = roundUp(segments, threads / std::gcd(images * bands, threads)); wanted <= groupPairs)
      segments = wanted;
    else if (others * bands < threads)
      parts = std::min(threads / (others * bands), blocks);
  }
};

// A tap of a row of results: where its first result's packed pixel lies, and its weights.
struct Tap {
  std::int64_t packed, weights;
};

// One or two groups of neighbouring results of a row.
struct Groups {
  std::int64_t count, first;                      // first: of all groups of a job, in order
  std::array<std::int64_t, groupsAtOnce> result;  // where the first result of each lies
  std::int64_t results, step;                     // how many there are of each, elements apart
  std::int64_t apart;                             // packed pixels, of the two
  std::size_t taps, tapsEnd;
};

// What one job sums.
class Job {
 public:
  Job(const Geometry& g, const Division& d, std::int64_t index)
      : g_(g),
        d_(d),
        part_(shareOf(d.blocks, index % d.parts, d.parts)),
        segment_(shareOf(d.groupPairs, index / d.parts % d.segments, d.segments)),
        columns_(d.columnsOf(g, segment_)),
        rows_(shareOf(d.height, index / d.parts / d.segments % d.bands, d.bands)),
        image_(index / d.parts / d.segments / d.bands),
        rowsRead_(g.rowsRead(rows_)) {
    for (std::int64_t y = rows_.begin; y < rows_.end; ++y)
      for (const Phase& phase : g.phases) listGroups(y, phase);
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
          const std::int64_t blocks = std::min<std::int64_t>(blocksAtOnce, g_.sides.result.blocks() - block * blocksAtOnce);
          withConstant<1, blocksAtOnce>(blocks, [&](auto blocksOf) {
            withConstant<1, groupsAtOnce>(groups.count, [&](auto groupsOf) {
              add<decltype(blocksOf)::value, decltype(groupsOf)::value>(groups, block, pairs, packed, weights, bias, slope, result, sums);
            });
          });
        }
    }
  }

 private:
  void listGroups(std::int64_t y, const Phase& phase) {
    const std::int64_t width = g_.columnsOf(phase), results = std::min(d_.groupSize, width);
    const std::int64_t count = std::min(segment_.end * groupsAtOnce, ceilDivide(width, d_.groupSize));
    const auto begin = [&](std::int64_t group) { return d_.begin(width, group); };
    for (std::int64_t group = segment_.begin * groupsAtOnce; group < count; group += groupsAtOnce) {
      Groups groups{std::min<std::int64_t>(groupsAtOnce, count - group),
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
  void listTaps(std::int64_t y, const Phase& phase, std::int64_t first, std::int64_t last) {
    const std::int64_t width = columnsRead();
    for (std::int64_t row = 0; row < g_.sides.rows.kernel; ++row) {
      const std::optional<std::int64_t> operandRow = g_.sides.operandRow(y, row);
      if (!operandRow) continue;
      const std::int64_t packedRow = std::lower_bound(rowsRead_.begin(), rowsRead_.end(), *operandRow) - rowsRead_.begin();
      for (const ColumnTap& tap : phase.taps) {
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
    float* const kept = sums + ((block - part_.begin) * groupCount_ + groups.first) * blocksAtOnce * amxSums;
    // each(register, block, group)
    const auto forSums = [](const auto& each) {
      forConstants<0, Blocks>([&](auto ofBlock) {
        forConstants<0, Count>([&](auto group) {
          each(std::integral_constant<int, decltype(ofBlock)::value * groupsAtOnce + decltype(group)::value>{}, ofBlock, group);
        });
      });
    };
    const auto keptAt = [=](std::int64_t ofBlock, std::int64_t group) { return kept + (ofBlock * Count + group) * amxSums; };
    forSums([&](auto sum, std::int64_t ofBlock, std::int64_t group) {
      if (pairs.begin == 0)
        amx::zero<decltype(sum)::value>();
      else
        amx::load<decltype(sum)::value>(keptAt(ofBlock, group), sumBytes);
    });
    const std::int64_t taps = g_.sides.rows.kernel * g_.sides.columns.kernel;
    const std::int64_t packedPair = static_cast<std::int64_t>(rowsRead_.size()) * columnsRead() * amxRow;
    const std::int64_t blockMatrices = d_.pairs * taps * amxMatrix, stride = g_.operandStep * amx::rowBytes;
    const Bfloat16* matrices = weights + block * blocksAtOnce * blockMatrices + pairs.begin * taps * amxMatrix;
    for (std::int64_t pair = pairs.begin; pair < pairs.end; ++pair, packed += packedPair, matrices += taps * amxMatrix)
      for (std::size_t t = groups.taps; t < groups.tapsEnd; ++t) {
        const Bfloat16* pixels = packed + taps_[t].packed * amxRow;
        const Bfloat16* matrix = matrices + taps_[t].weights;
        amx::load<4>(pixels, stride);
        amx::load<6>(matrix, amx::rowBytes);
        amx::multiply<0, 4, 6>();
        if constexpr (Count == 2) {
          amx::load<5>(pixels + groups.apart * amxRow, stride);
          amx::multiply<1, 5, 6>();
        }
        if constexpr (Blocks == 2) {
          amx::load<7>(matrix + blockMatrices, amx::rowBytes);
          amx::multiply<2, 4, 7>();
          if constexpr (Count == 2) amx::multiply<3, 5, 7>();
        }
      }
    const bool isLast = pairs.end == d_.pairs;
    forSums([&](auto sum, std::int64_t ofBlock, std::int64_t group) {
      if (!isLast) return amx::store<decltype(sum)::value>(keptAt(ofBlock, group), sumBytes);
      alignas(64) std::array<float, amxSums> rows;
      amx::store<decltype(sum)::value>(rows.data(), sumBytes);
      const std::int64_t own = block * blocksAtOnce + ofBlock;
      Bfloat16* first = result + image_ * g_.sides.result.batchStride + own * g_.sides.result.blockStride;
      roundSums(rows.data(), bias == nullptr ? nullptr : bias + own * amxLanes, slope, groups.results,
                first + groups.result[static_cast<std::size_t>(group)], groups.step);
    });
  }

  const Geometry& g_;
  const Division& d_;
  Share part_, segment_, columns_, rows_;
  std::int64_t image_, groupCount_ = 0;
  std::vector<std::int64_t> rowsRead_;
  std::vector<Groups> groups_;
  std::vector<Tap> taps_;
};

// What each thread has of the scratch, in bytes.
struct ScratchLayout {
  std::int64_t packed, bytes;

  ScratchLayout(const Geometry& g, const Division& d) {
    const std::int64_t row = checkedMultiply(g.columnsRead(d.segmentColumns), amx::rowBytes);
    packed = checkedMultiply(checkedMultiply(d.pairsAtOnce, d.rowsRead), row);
    bytes = packed;
    if (d.pairsAtOnce < d.pairs)
      bytes = checkedAdd(bytes, checkedMultiply(checkedMultiply(ceilDivide(d.blocks, d.parts), d.groups(g)), blocksAtOnce * amxSums * 4));
  }
};

}  // namespace

Layout amxWeightLayout(KernelKind kind) { return kind == KernelKind::convolutionForward ? Layout::OIhw16i16o2i : Layout::IOhw16o16i2o; }

bool fitsAmxCorrelation(KernelKind kind, const Convolution& c) {
  return kind != KernelKind::convolutionBackwardWeights && multipliesMatrices() && c.groups == 1 && c.sourceLayout == Layout::nChw16c &&
         c.destinationLayout == Layout::nChw16c && c.weightLayout == amxWeightLayout(kind);
}

std::size_t amxCorrelationScratchBytes(KernelKind kind, const Convolution& c, int threads) {
  const Geometry geometry(c, kind == KernelKind::convolutionForward);
  return static_cast<std::size_t>(checkedMultiply(threads, ScratchLayout(geometry, Division(c, geometry, threads)).bytes));
}

Launch compileAmxCorrelation(KernelKind kind, const Convolution& c, int threads) {
  const bool forward = kind == KernelKind::convolutionForward;
  const Geometry geometry(c, forward);
  const Division division(c, geometry, threads);
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
