// Pairs of sums over the elements of every row of statistics, in one pass over memory wherever the
// layout puts them.
#pragma once
#include "column_sums.cuh"

namespace tilefold::cuda {

// The elements of one row, n in each term. `read` and `terms` stay where they came with the launch.
template <int n, class Constants, class Read, class Terms>
struct RunTerms {
  Constants constants;
  std::int64_t first, stride;
  bool oneRun;
  Divisor byRun;
  const Read& read;
  const Terms& terms;

  __device__ Sums<2> operator()(std::int64_t k) const {
    std::int64_t i = first + k * n;
    if (!oneRun) {
      const Division at = byRun(k);
      i = first + at.quotient * stride + at.remainder * n;
    }
    Sums<2> sums{};
    terms(
        0.0, read(Pack<float, n>{}, i), i, [&](int) { return constants; },
        DoubleAdder{[&](int, double one, double other) {
          sums.values[0] += one;
          sums.values[1] += other;
        }});
    return sums;
  }
};

template <int n, class Of, class Read, class Terms>
struct RunsOfRows {
  StatisticsRows rows;
  std::int64_t stride;
  bool oneRun;
  Divisor byRun;
  Of of;
  Read read;
  Terms terms;

  __device__ auto operator()(std::int64_t output) const {
    const StatisticsRow row = rows.row(output);
    return RunTerms<n, decltype(of(row)), Read, Terms>{of(row), row.first, stride, oneRun, byRun, read, terms};
  }
};

template <class Finish>
struct FinishRows {
  StatisticsRows rows;
  Finish finish;

  __device__ void operator()(std::int64_t output, const Sums<2>& sums) const { finish(rows.row(output), sums.values[0], sums.values[1]); }
};

template <int n, class Of, class Read, class Terms, class Finish>
void sumRuns(const Context& context, const char* name, const StatisticsRows& rows, const Of& of, const Read& read, const Terms& terms,
             const Finish& finish) {
  forEachSum<1>(context, name, rows.count(), rows.length() / n,
                RunsOfRows<n, Of, Read, Terms>{rows, rows.stride(), rows.runs() == 1, Divisor(rows.together() / n), of, read, terms},
                FinishRows<Finish>{rows, finish}, termsPerThread / n);
}

// finish(row, one, other) for every row: the sums of what terms(zero, read(pack, i), i, constants,
// add) adds by add(k, one, other), or by add(k, one) with its square, once for each element i + k
// of its pack, computed in the type of `zero`. constants(k) is what of(row) gave for the row of
// that element. `pack` is empty, as forEachPack's, of neighbouring elements of type T. Of columns
// `ahead` packs are loaded at once and added in float32, as long as that is finite, before their
// sums are added in double: FP64 for each element would take longer than memory does.
template <class T, int ahead, class Of, class Read, class Terms, class Finish>
void forEachRowSum(const Context& context, const char* name, const StatisticsRows& rows, std::initializer_list<const void*> addresses,
                   const Of& of, const Read& read, const Terms& terms, const Finish& finish) {
  constexpr int width = packBytes / sizeof(T);
  const bool inPacks = aligned(addresses) && rows.inPacks(width);
  if (rows.columns() && inPacks)
    sumColumns<width, ahead>(context, name, rows, of, read, terms, finish);
  else if (rows.columns())
    sumColumns<1, ahead>(context, name, rows, of, read, terms, finish);
  else if (inPacks)
    sumRuns<width>(context, name, rows, of, read, terms, finish);
  else
    sumRuns<1>(context, name, rows, of, read, terms, finish);
}

}  // namespace tilefold::cuda
