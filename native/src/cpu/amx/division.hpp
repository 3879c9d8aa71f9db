// What correlation.hpp sums, and how its jobs share it.
#pragma once
#include <numeric>

#include "../operands/convolution_sides.hpp"
#include "../processor/parallel.hpp"
#include "amx.hpp"

namespace tilefold::cpu {

constexpr int amxBlocksAtOnce = 2, amxGroupsAtOnce = 2;  // of results, whose sums registers hold

// Neighbouring results of a row that are the rows of a register: groups of one size, the largest
// that leaves few out.
inline std::int64_t amxGroupSize(std::int64_t columns) { return ceilDivide(columns, ceilDivide(columns, amx::registerRows)); }
// Where a group begins: the last one sooner, and sums some results again, if it would be shorter.
inline std::int64_t amxGroupBegin(std::int64_t group, std::int64_t size, std::int64_t columns) {
  return std::min(group * size, std::max<std::int64_t>(0, columns - size));
}

// A tap of the columns: result j of a row reads column j * operandStep + offset of the operand.
struct AmxColumnTap {
  std::int64_t tap, offset;
};

// Columns first + j * step of the results, which the same taps give.
struct AmxPhase {
  std::int64_t first, step;
  std::vector<AmxColumnTap> taps;
};

// The images as they are summed. Pixels that meet no others (1 x 1 kernels without strides or
// padding) are one row.
struct AmxGeometry {
  Sides sides;
  std::int64_t operandStep, least = 0, most = 0;  // offsets
  std::int64_t columns;                           // of the longest phase
  std::vector<AmxPhase> phases;

  AmxGeometry(const Convolution& c, bool forward) : sides(sidesOf(c, forward)) {
    joinRows(sides.rows, sides.columns);
    const WindowAxis& axis = sides.columns;
    operandStep = forward ? axis.stride : 1;
    const std::int64_t count = forward ? 1 : axis.stride;
    columns = ceilDivide(sides.resultWidth(), count);
    for (std::int64_t first = 0; first < std::min(count, sides.resultWidth()); ++first) {
      AmxPhase phase{first, count, {}};
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
    for (const AmxPhase& phase : phases)
      for (const AmxColumnTap& tap : phase.taps) {
        least = any ? std::min(least, tap.offset) : tap.offset;
        most = any ? std::max(most, tap.offset) : tap.offset;
        any = true;
      }
  }

  std::int64_t columnsOf(const AmxPhase& phase) const { return ceilDivide(sides.resultWidth() - phase.first, phase.step); }
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
struct AmxDivision {
  static constexpr std::int64_t packedBytes = 768 * 1024;      // of a core's second cache
  static constexpr std::int64_t fewRows = 4, fewColumns = 64;  // fewer would pack the same pixels too often

  std::int64_t images, height, pairs, blocks;
  std::int64_t groupSize, groupPairs;  // neighbouring results of a row, summed in pairs of groups
  std::int64_t bands = 1, segments = 1, parts = 1;
  std::int64_t pairsAtOnce, rowsRead = 0, segmentColumns = 0;

  AmxDivision(const Convolution& c, const AmxGeometry& g, int threads)
      : images(c.batch),
        height(g.sides.resultHeight()),
        pairs(ceilDivide(g.sides.operand.blocks(), 2)),
        blocks(ceilDivide(g.sides.result.blocks(), amxBlocksAtOnce)),
        groupSize(amxGroupSize(g.columns)),
        groupPairs(ceilDivide(ceilDivide(g.columns, groupSize), amxGroupsAtOnce)) {
    const std::int64_t few = std::min(height, fewRows);
    const auto widthOf = [&](std::int64_t parts) { return ceilDivide(groupPairs, parts) * amxGroupsAtOnce * groupSize; };
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
  std::int64_t groups(const AmxGeometry& g) const {
    return checkedMultiply(bandHeight() * static_cast<std::int64_t>(g.phases.size()), ceilDivide(groupPairs, segments) * amxGroupsAtOnce);
  }
  // Where a group begins among a phase's results.
  std::int64_t begin(std::int64_t columns, std::int64_t group) const { return amxGroupBegin(group, groupSize, columns); }
  // Those whose operands are packed together.
  Share columnsOf(const AmxGeometry& g, const Share& segment) const {
    Share columns{g.columns, 0};
    for (const AmxPhase& phase : g.phases) {
      const std::int64_t width = g.columnsOf(phase), last = std::min(segment.end * amxGroupsAtOnce, ceilDivide(width, groupSize)) - 1;
      if (segment.begin * amxGroupsAtOnce > last) continue;
      columns.begin = std::min(columns.begin, begin(width, segment.begin * amxGroupsAtOnce));
      columns.end = std::max(columns.end, begin(width, last) + groupSize);
    }
    return columns.begin < columns.end ? columns : Share{0, 1};
  }

 private:
  static std::int64_t rowsReadBy(const AmxGeometry& g, std::int64_t rows) {
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

}  // namespace tilefold::cpu
