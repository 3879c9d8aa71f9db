// Pairs of sums over rows of statistics whose elements are neighbours, as channels of nhwc are: in
// packs of columns.
#pragma once
#include <type_traits>
#include <utility>

#include "reduction.cuh"
#include "statistics_rows.cuh"

namespace tilefold::cuda {

// Adds up in double what terms give: a pair, or a number with its square.
template <class Add>
struct DoubleAdder {
  Add add;
  __device__ void operator()(int at, double one, double other) const { add(at, one, other); }
  __device__ void operator()(int at, double one) const { add(at, one, one * one); }
};
template <class Add>
DoubleAdder(Add) -> DoubleAdder<Add>;

// read(pack, i), or where that reads what terms change read.again(pack, i): what it was.
template <class Read, class Pack, class = void>
struct ReadAgain {
  static __device__ auto read(const Read& from, Pack pack, std::int64_t i) { return from(pack, i); }
};
template <class Read, class Pack>
struct ReadAgain<Read, Pack, std::void_t<decltype(std::declval<const Read&>().again(Pack{}, std::int64_t{}))>> {
  static __device__ auto read(const Read& from, Pack pack, std::int64_t i) { return from.again(pack, i); }
};

// The blocks that a launch aims at: one for each multiprocessor of an H100 or H200, whose registers
// one fills. No other device's number may stand here: it decides the order of sums.
constexpr std::int64_t columnBlocks = 132;
// Packs of columns that lie side by side in a block: a line of memory.
template <int n>
constexpr int packLanes = n == 1 ? 32 : 8;

// What a thread adds by itself for the columns of a pack: every step-th of `length` pixels, `ahead`
// at a time.
template <int n, int ahead, class Constants, class Read, class Terms>
class ColumnTerms {
 public:
  __device__ ColumnTerms(std::int64_t first, std::int64_t stride, std::int64_t length, std::int64_t begin, std::int64_t step,
                         const Read& read, const Terms& terms)
      : first_(first), stride_(stride), length_(length), pixel_(begin), step_(step), read_(read), terms_(terms) {
    if (inside(0)) load();
  }

  // `constants` of the columns: they take as long to find as the first pixels to arrive.
  __device__ Sums<2 * n> sum(const Constants* constants) {
    Constants own[n];
    for (int k = 0; k < n; ++k) own[k] = constants[k];
    const std::int64_t begin = pixel_;
    Sums<2 * n> sum{};
    while (inside(0)) {
      if (inside(ahead - 1))
        add<true>(own, sum);
      else
        add<false>(own, sum);
      pixel_ += ahead * step_;
      if (inside(0)) load();
    }
    // What overflows float32 may be finite in double.
    return finite(sum) ? sum : sumInDouble(own, begin);
  }

 private:
  static __device__ bool finite(const Sums<2 * n>& sum) {
    double zeros = 0;
    for (int k = 0; k < 2 * n; ++k) zeros += sum.values[k] * 0;
    return zeros == 0;
  }

  __device__ Sums<2 * n> sumInDouble(const Constants (&constants)[n], std::int64_t begin) {
    Sums<2 * n> sum{};
#pragma unroll 1
    for (pixel_ = begin; inside(0); pixel_ += step_)
      terms_(
          0.0, ReadAgain<Read, Pack<float, n>>::read(read_, {}, place(0)), place(0), [&](int at) { return constants[at]; },
          DoubleAdder{[&](int at, double one, double other) {
            sum.values[2 * at] += one;
            sum.values[2 * at + 1] += other;
          }});
    return sum;
  }

  __device__ bool inside(int k) const { return pixel_ + k * step_ < length_; }
  __device__ std::int64_t place(int k) const { return first_ + (pixel_ + k * step_) * stride_; }

  // All before the first is added. It stands for those behind the end, which are not added.
  __device__ void load() {
#pragma unroll
    for (int k = 0; k < ahead; ++k) loaded_[k] = read_(Pack<float, n>{}, place(inside(k) ? k : 0));
  }

  // What is added in float32, of some pixels. Squares are of what is apart from the first pixel's:
  // where all are alike but far from zero, their roundings would all be the same, and not go away.
  struct FloatSums {
    float ones[n] = {}, others[n] = {}, firsts[n] = {};
    bool ofSquares = false;
  };
  struct FloatAdder {
    FloatSums& sums;
    bool isFirst, counts;

    // No branch around what was loaded, or compilers load it behind that.
    __device__ void operator()(int at, float one, float other) const {
      sums.ones[at] += counts ? one : 0.0F;
      sums.others[at] += counts ? other : 0.0F;
    }
    __device__ void operator()(int at, float one) const {
      sums.ofSquares = true;
      if (isFirst) sums.firsts[at] = one;
      const float apart = one - sums.firsts[at];
      operator()(at, one, apart * apart);
    }
  };

  template <bool whole>
  __device__ void add(const Constants (&constants)[n], Sums<2 * n>& sum) const {
    FloatSums sums;
    double count = 0;
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
      const bool counts = whole || inside(k);
      count += counts ? 1 : 0;
      terms_(
          0.0F, loaded_[k], place(counts ? k : 0), [&](int at) { return constants[at]; }, FloatAdder{sums, k == 0, counts});
    }
    for (int k = 0; k < n; ++k) {
      const auto one = static_cast<double>(sums.ones[k]), first = static_cast<double>(sums.firsts[k]);
      sum.values[2 * k] += one;
      sum.values[2 * k + 1] += static_cast<double>(sums.others[k]) + (sums.ofSquares ? first * (2 * one - count * first) : 0);
    }
  }

  std::int64_t first_, stride_, length_, pixel_, step_;
  const Read& read_;
  const Terms& terms_;
  decltype(std::declval<const Read&>()(Pack<float, n>{}, std::int64_t{})) loaded_[ahead];
};

// A block sums one slice of the pixels of one group of columns; the last block of a group adds the
// slices.
template <int n, int ahead, class Of, class Read, class Terms, class Finish>
__global__ void __launch_bounds__(sumThreads, 1)
    sumColumnSlices(StatisticsRows rows, std::int64_t slices, Partials* partials, Of of, Read read, Terms terms, Finish finish) {
  using Constants = decltype(of(StatisticsRow{}));
  using Sum = Sums<2 * n>;
  constexpr int lanes = packLanes<n>, columns = lanes * n;
  __shared__ double shared[sharedDoubles<lanes, Sum>];
  alignas(Constants) __shared__ unsigned char storage[columns * sizeof(Constants)];
  auto* const constants = reinterpret_cast<Constants*>(storage);
  const int thread = static_cast<int>(threadIdx.x), lane = thread % lanes, row = thread / lanes;
  const std::int64_t slice = blockIdx.x % slices, groups = (rows.count() + columns - 1) / columns;
  for (std::int64_t group = blockIdx.x / slices; group < groups; group += gridDim.x / slices) {
    const std::int64_t firstRow = group * columns, ownRow = firstRow + lane * n;
    const bool hasRow = thread < columns && firstRow + thread < rows.count();
    const bool hasColumns = ownRow < rows.count();
    ColumnTerms<n, ahead, Constants, Read, Terms> own(hasColumns ? rows.row(ownRow).first : 0, rows.stride(),
                                                      hasColumns ? rows.length() : 0, slice * (sumThreads / lanes) + row,
                                                      slices * (sumThreads / lanes), read, terms);
    if (hasRow) constants[thread] = of(rows.row(firstRow + thread));
    __syncthreads();
    Sum sum = own.sum(constants + lane * n);
    sum = sumOfRows<lanes>(sum, shared);
    if (!sumOfSlices<lanes>(sum, group, slice, slices, partials, shared)) continue;
    // A thread for each row: finishing one takes long.
    if (row == 0) putSum(shared + lane, lanes, sum);
    __syncthreads();
    const double* const sums = shared + 2 * (thread % n) * lanes + thread / n;
    if (hasRow) finish(rows.row(firstRow + thread), sums[0], sums[lanes]);
    __syncthreads();
  }
}

template <int n, int ahead, class Of, class Read, class Terms, class Finish>
void sumColumns(const Context& context, const char* name, const StatisticsRows& rows, const Of& of, const Read& read, const Terms& terms,
                const Finish& finish) {
  constexpr std::int64_t columns = packLanes<n> * n, perBlock = ahead * (sumThreads / packLanes<n>);
  const std::int64_t groups = (rows.count() + columns - 1) / columns, worthwhile = (rows.length() + perBlock - 1) / perBlock;
  const std::int64_t slices = std::max<std::int64_t>(1, std::min(columnBlocks / groups, worthwhile));
  const std::int64_t blocks = slices > 1 ? groups * slices : std::min<std::int64_t>(groups, std::int64_t{1} << 20);
  launchKernel(context, name, sumColumnSlices<n, ahead, Of, Read, Terms, Finish>, blocks, sumThreads, rows, slices, context.partials, of,
               read, terms, finish);
}

}  // namespace tilefold::cuda
