// Pairs of sums over the elements of every row of statistics, in one pass over memory wherever the
// layout puts them.
#pragma once
#include "../kernels/kernel_fields.hpp"
#include "divisor.cuh"
#include "reduction.cuh"

namespace tilefold::cuda {

// A row of statistics: the channels of a group, of one image or of all.
struct StatisticsRow {
  std::int64_t row, image, group, first;  // `first`: its first element
};

// Where the elements of rows lie: each has `runs` runs of `together` elements next to each other,
// `stride` apart.
class StatisticsRows {
 public:
  StatisticsRows(const Tile& t, std::int64_t groups, bool perImage)
      : images_(perImage ? t.batch : 1), groups_(groups), imageStride_(t.channels * t.height * t.width), byGroups_(groups) {
    const bool channelsLast = t.layout == Layout::nhwc;
    const std::int64_t pixels = t.height * t.width, channels = t.channels / groups;
    groupStride_ = together_ = channelsLast ? channels : channels * pixels;
    runs_ = (perImage ? 1 : t.batch) * (channelsLast ? pixels : 1);
    stride_ = channelsLast ? t.channels : t.channels * pixels;
    if (stride_ != together_) return;
    together_ *= runs_;
    runs_ = 1;
  }

  std::int64_t count() const { return images_ * groups_; }
  // Elements of a row.
  std::int64_t length() const { return runs_ * together_; }
  std::int64_t runs() const { return runs_; }
  std::int64_t together() const { return together_; }
  std::int64_t stride() const { return stride_; }
  // Whether neighbouring elements belong to neighbouring rows.
  bool columns() const { return together_ == 1; }
  // Whether packs of elements stay in a run, or packs of columns in an image, and begin at
  // multiples of the pack's width.
  bool inPacks(int width) const {
    return imageStride_ % width == 0 && stride_ % width == 0 &&
           (columns() ? groups_ % width == 0 : together_ % width == 0 && groupStride_ % width == 0);
  }

  __device__ StatisticsRow row(std::int64_t index) const {
    const Division at = byGroups_(index);
    return {index, at.quotient, at.remainder, at.quotient * imageStride_ + at.remainder * groupStride_};
  }

 private:
  std::int64_t images_, groups_, runs_ = 1, together_ = 1, stride_ = 1, imageStride_, groupStride_ = 1;
  Divisor byGroups_;
};

// The elements of one row, n in each term. The body stays where it came with the launch.
template <int n, class Constants, class Body>
struct RunTerms {
  Constants constants;
  std::int64_t first, stride;
  bool oneRun;
  Divisor byRun;
  const Body& body;

  __device__ Sums<2> operator()(std::int64_t k) const {
    std::int64_t i = first + k * n;
    if (!oneRun) {
      const Division at = byRun(k);
      i = first + at.quotient * stride + at.remainder * n;
    }
    Sums<2> sums{};
    body(
        Pack<float, n>{}, i, [&](int) { return constants; },
        [&](int, double one, double other) {
          sums.values[0] += one;
          sums.values[1] += other;
        });
    return sums;
  }
};

// One element of each of n neighbouring rows in each term.
template <int n, class Constants, class Body>
struct ColumnTerms {
  Constants constants[n];
  std::int64_t first, stride;
  const Body& body;

  __device__ Sums<2 * n> operator()(std::int64_t k) const {
    Sums<2 * n> sums;
    body(
        Pack<float, n>{}, first + k * stride, [&](int at) { return constants[at]; },
        [&](int at, double one, double other) {
          sums.values[2 * at] = one;
          sums.values[2 * at + 1] = other;
        });
    return sums;
  }
};

template <int n, class Of, class Body>
struct RunsOfRows {
  StatisticsRows rows;
  std::int64_t stride;
  bool oneRun;
  Divisor byRun;
  Of of;
  Body body;

  __device__ auto operator()(std::int64_t output) const {
    const StatisticsRow row = rows.row(output);
    return RunTerms<n, decltype(of(row)), Body>{of(row), row.first, stride, oneRun, byRun, body};
  }
};

template <int n, class Of, class Body>
struct ColumnsOfRows {
  StatisticsRows rows;
  std::int64_t stride;
  Of of;
  Body body;

  __device__ auto operator()(std::int64_t output) const {
    const StatisticsRow row = rows.row(output * n);
    ColumnTerms<n, decltype(of(row)), Body> terms{{}, row.first, stride, body};
    for (int k = 0; k < n; ++k) terms.constants[k] = of(rows.row(output * n + k));
    return terms;
  }
};

template <int n, class Finish>
struct FinishRows {
  StatisticsRows rows;
  Finish finish;

  __device__ void operator()(std::int64_t output, const Sums<2 * n>& sums) const {
    for (int k = 0; k < n; ++k) finish(rows.row(output * n + k), sums.values[2 * k], sums.values[2 * k + 1]);
  }
};

template <int n, class Of, class Body, class Finish>
void sumColumns(const Context& context, const char* name, const StatisticsRows& rows, const Of& of, const Body& body,
                const Finish& finish) {
  forEachSum<32 / n>(context, name, rows.count() / n, rows.length(), ColumnsOfRows<n, Of, Body>{rows, rows.stride(), of, body},
                     FinishRows<n, Finish>{rows, finish}, termsPerThread / n);
}

template <int n, class Of, class Body, class Finish>
void sumRuns(const Context& context, const char* name, const StatisticsRows& rows, const Of& of, const Body& body, const Finish& finish) {
  forEachSum<1>(context, name, rows.count(), rows.length() / n,
                RunsOfRows<n, Of, Body>{rows, rows.stride(), rows.runs() == 1, Divisor(rows.together() / n), of, body},
                FinishRows<1, Finish>{rows, finish}, termsPerThread / n);
}

// finish(row, one, other) for every row: the sums of what body(pack, i, constants, add) adds by
// add(k, one, other), once for each element i + k of its pack. constants(k) is what of(row) gave
// for the row of that element. `pack` is empty, as forEachPack's,
// of neighbouring elements of type T.
template <class T, class Of, class Body, class Finish>
void forEachRowSum(const Context& context, const char* name, const StatisticsRows& rows, std::initializer_list<const void*> addresses,
                   const Of& of, const Body& body, const Finish& finish) {
  constexpr int width = packBytes / sizeof(T);
  const bool inPacks = aligned(addresses);
  // The sums of more columns would not fit a block's shared memory.
  if (rows.columns() && inPacks && rows.inPacks(packWidth))
    sumColumns<packWidth>(context, name, rows, of, body, finish);
  else if (rows.columns())
    sumColumns<1>(context, name, rows, of, body, finish);
  else if (inPacks && rows.inPacks(width))
    sumRuns<width>(context, name, rows, of, body, finish);
  else
    sumRuns<1>(context, name, rows, of, body, finish);
}

}  // namespace tilefold::cuda
