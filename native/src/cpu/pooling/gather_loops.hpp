// Loops over rows of blocked activations whose every result is a weighted sum of operands, along
// rows and along columns, compiled for several instruction sets like vector_loops.hpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../kernels/bfloat16.hpp"

namespace tilefold::cpu {

// Coordinates begin .. begin + count - 1 of an axis, each with its weight. `repeats`: the result
// before has the same.
struct Terms {
  bool equals(const Terms& other) const {
    return begin == other.begin && count == other.count && std::equal(weights, weights + count, other.weights);
  }
  std::int64_t begin, count;
  const float* weights;
  bool repeats;
};

// Results first .. end - 1 of a row, whose terms are all of operands from .. to - 1.
struct ColumnRun {
  std::int64_t first, end, from, to;
};

// The results of a row, in runs so short that operands and results stay in a cache; a result that
// has more operands is a run of its own.
std::vector<ColumnRun> columnRuns(const std::vector<Terms>& columns);

// T: float or Bfloat16. Rows of results that are alike, `width` pixels each, one behind the other:
// result[x] = sum over the terms of `rows` and of columns[x] of weights times operand[row][column].
// `streams`: past the caches (streaming.hpp). `block` is 8 or 16.
template <class T>
struct GatherRows {
  const T* operand;  // of the plane
  std::int64_t operandWidth;
  Terms rows;
  const Terms* columns;
  const std::vector<ColumnRun>& runs;
  std::int64_t count, width;
  bool streams;
};
template <class T>
void gatherRows(const GatherRows<T>& rows, T* result, std::int64_t block);

}  // namespace tilefold::cpu
