// Which inputs an output of a resize or an adaptive pool is made of, and with what weights, along
// one axis of the whole tensors; in whole numbers, so that a tile finds what the whole finds.
#pragma once
#include <algorithm>
#include <vector>

#include "kernel_fields.hpp"

namespace tilefold {

// Inputs from .. to - 1; the weight of the first, and of each other.
struct Reading {
  std::int64_t from, to;
  double first, others;
  double weight(std::int64_t input) const { return input == from ? first : others; }
};

enum class Resampling { nearest, bilinear, alignedCorners, adaptive };

// An axis of the whole tensors, and the tiles of it that a launch has: input coordinates from
// `source` on, outputs from `destination` on.
struct ResampledAxis {
  Resampling kind;
  std::int64_t fullIn, fullOut, source, in, destination, out;

  // As torch.nn.functional.interpolate and adaptive_avg_pool2d, at an absolute coordinate; an input
  // of weight 0 is not read.
  Reading reading(std::int64_t output) const {
    switch (kind) {
      case Resampling::nearest:
        return single(output * fullIn / fullOut);
      case Resampling::bilinear:  // (output + 1/2) fullIn / fullOut - 1/2, not below 0
        return between(std::max<std::int64_t>((2 * output + 1) * fullIn - fullOut, 0), 2 * fullOut);
      case Resampling::alignedCorners:
        return fullOut == 1 ? single(0) : between(output * (fullIn - 1), fullOut - 1);
      case Resampling::adaptive:
        break;
    }
    const std::int64_t from = output * fullIn / fullOut, to = ((output + 1) * fullIn + fullOut - 1) / fullOut;
    const double share = 1.0 / static_cast<double>(to - from);
    return {from, to, share, share};
  }

  // Of every output of the tile, relative to the input's tile. Throws Failure where one reads
  // beside that tile.
  std::vector<Reading> readings() const {
    std::vector<Reading> result;
    result.reserve(static_cast<std::size_t>(out));
    for (std::int64_t o = 0; o < out; ++o) {
      Reading r = reading(destination + o);
      if (r.from < source || r.to > source + in)
        throw Failure("output " + std::to_string(destination + o) + " is made of inputs " + std::to_string(r.from) + " .. " +
                      std::to_string(r.to - 1) + ", but the tile holds " + std::to_string(source) + " .. " +
                      std::to_string(source + in - 1) + ": stage the program again");
      r.from -= source;
      r.to -= source;
      result.push_back(r);
    }
    return result;
  }

  // Outputs begin .. end - 1 of the tile read an input; begin = end where none does.
  struct Readers {
    std::int64_t begin = 0, end = 0;
  };
  // What the gradient of the tile's inputs needs: the outputs' readings, relative to the input's
  // tile but not cut to it, and the readers of every input.
  struct Transposed {
    std::vector<Reading> readings;
    std::vector<Readers> readers;
  };
  Transposed transposed() const {
    Transposed t{{}, std::vector<Readers>(static_cast<std::size_t>(in))};
    t.readings.reserve(static_cast<std::size_t>(out));
    for (std::int64_t o = 0; o < out; ++o) {
      Reading r = reading(destination + o);
      r.from -= source;
      r.to -= source;
      t.readings.push_back(r);
      for (std::int64_t i = std::max<std::int64_t>(r.from, 0); i < std::min(r.to, in); ++i) {
        Readers& readers = t.readers[static_cast<std::size_t>(i)];
        if (readers.begin == readers.end) readers.begin = o;
        readers.end = o + 1;
      }
    }
    return t;
  }

 private:
  static Reading single(std::int64_t input) { return {input, input + 1, 1, 0}; }
  // At numerator / denominator, between the two inputs around it.
  Reading between(std::int64_t numerator, std::int64_t denominator) const {
    const std::int64_t from = numerator / denominator, rest = numerator % denominator;
    if (rest == 0 || from >= fullIn - 1) return single(std::min(from, fullIn - 1));
    const double fraction = static_cast<double>(rest) / static_cast<double>(denominator);
    return {from, from + 2, 1 - fraction, fraction};
  }
};

// Absolute coordinates of the first row and column of the tiles of input and output.
struct ResampledAt {
  std::int64_t sourceRow, sourceColumn, destinationRow, destinationColumn;
};

inline Resampling resamplingOf(const Resize& r) {
  return !r.bilinear ? Resampling::nearest : r.alignCorners ? Resampling::alignedCorners : Resampling::bilinear;
}
inline ResampledAxis rowsOf(const Resampled& r, Resampling kind, const ResampledAt& at) {
  return {kind, r.fullInHeight, r.fullOutHeight, at.sourceRow, r.inHeight, at.destinationRow, r.outHeight};
}
inline ResampledAxis columnsOf(const Resampled& r, Resampling kind, const ResampledAt& at) {
  return {kind, r.fullInWidth, r.fullOutWidth, at.sourceColumn, r.inWidth, at.destinationColumn, r.outWidth};
}

}  // namespace tilefold
