#include "copy_rows.hpp"

#include "compiled.hpp"
#include "divisor.cuh"
#include "element_loop.cuh"
#include "families.hpp"
#include "small_launch.cuh"
#include "warp.cuh"

namespace tilefold::cuda {
namespace {

constexpr int packsPerThread = 4;

// The same box in as few and as long rows as can be.
RowBox merged(const RowBox& box) {
  RowBox result{{1, 1, 1, box.extents[3]}, {}, {}, box.add, box.summands, box.summandStride};
  int outer = 3;  // the outermost axis that is filled
  for (int axis = 2; axis >= 0; --axis) {
    const std::int64_t extent = box.extents[axis], from = box.sourceStrides[axis], to = box.destinationStrides[axis];
    if (extent == 1) continue;
    const std::int64_t fromBelow = outer == 3 ? 1 : result.sourceStrides[outer],
                       toBelow = outer == 3 ? 1 : result.destinationStrides[outer];
    if (from == fromBelow * result.extents[outer] && to == toBelow * result.extents[outer]) {
      result.extents[outer] *= extent;
      continue;
    }
    --outer;
    result.extents[outer] = extent;
    result.sourceStrides[outer] = from;
    result.destinationStrides[outer] = to;
  }
  return result;
}

// Where a row lies on both sides.
class Rows {
 public:
  explicit Rows(const RowBox& box) : box_(box), byMiddle_(box.extents[2]), byOuter_(box.extents[1]) {}

  struct Row {
    std::int64_t source, destination;
  };
  __device__ Row row(std::int64_t number) const {
    const Division middle = byMiddle_(number), outer = byOuter_(middle.quotient);
    const auto at = [&](const std::int64_t* strides) {
      return outer.quotient * strides[0] + outer.remainder * strides[1] + middle.remainder * strides[2];
    };
    return {at(box_.sourceStrides), at(box_.destinationStrides)};
  }

 private:
  RowBox box_;
  Divisor byMiddle_, byOuter_;
};

// What of a box each place of the destination takes.
struct Taking {
  bool add;
  std::int64_t summands, summandStride;
};

template <int n, class From, class To>
__device__ void copyPack(const From* from, To* to, const Taking& taking) {
  Pack<float, n> values;
  values.load(from);
  if (taking.add) {
    Pack<float, n> sum;
    sum.load(to);
    for (int k = 0; k < n; ++k) sum[k] += values[k];
    for (std::int64_t summand = 1; summand < taking.summands; ++summand) {
      values.load(from + summand * taking.summandStride);
      for (int k = 0; k < n; ++k) sum[k] += values[k];
    }
    values = sum;
  }
  values.store(to);
}

template <int n, class From, class To>
void copyOf(const Context& context, const char* name, const RowBox& box, const From* source, To* destination) {
  const Rows rows(box);
  const Taking taking{box.add, box.summands, box.summandStride};
  const std::int64_t rowCount = box.extents[0] * box.extents[1] * box.extents[2], packs = box.extents[3] / n;
  if (packs < warpThreads * packsPerThread / 2) {
    const Divisor byPacks(packs);
    forEach(context, name, rowCount * packs, [=] __device__(std::int64_t i) {
      const Division place = byPacks(i);
      const Rows::Row row = rows.row(place.quotient);
      const std::int64_t x = place.remainder * n;
      copyPack<n>(source + row.source + x, destination + row.destination + x, taking);
    });
    return;
  }
  // A warp takes a stretch of a row, so that finding the row is paid for once by several packs.
  constexpr std::int64_t stretch = warpThreads * packsPerThread;
  const std::int64_t stretches = (packs + stretch - 1) / stretch;
  const Divisor byStretches(stretches);
  forEach(context, name, rowCount * stretches * warpThreads, [=] __device__(std::int64_t i) {
    const Division place = byStretches(i / warpThreads);
    const Rows::Row row = rows.row(place.quotient);
    const std::int64_t first = place.remainder * stretch + i % warpThreads;
#pragma unroll
    for (int k = 0; k < packsPerThread; ++k) {
      const std::int64_t x = first + k * warpThreads;
      if (x < packs) copyPack<n>(source + row.source + x * n, destination + row.destination + x * n, taking);
    }
  });
}

bool inPacks(const RowBox& box, const void* source, const void* destination) {
  bool whole = box.extents[3] % packWidth == 0 && box.summandStride % packWidth == 0 && aligned({source, destination});
  for (int axis = 0; axis < 3; ++axis)
    whole =
        whole && (box.extents[axis] == 1 || (box.sourceStrides[axis] % packWidth == 0 && box.destinationStrides[axis] % packWidth == 0));
  return whole;
}

}  // namespace

template <class From, class To>
void copyRows(const Context& context, const char* name, const RowBox& box, const From* source, To* destination) {
  const RowBox longest = merged(box);
  if (inPacks(longest, source, destination))
    copyOf<packWidth>(context, name, longest, source, destination);
  else
    copyOf<1>(context, name, longest, source, destination);
}

#define TILEFOLD_INSTANTIATE(From, To) template void copyRows<From, To>(const Context&, const char*, const RowBox&, const From*, To*);
TILEFOLD_INSTANTIATE(float, float)
TILEFOLD_INSTANTIATE(float, Bfloat16)
TILEFOLD_INSTANTIATE(Bfloat16, float)
TILEFOLD_INSTANTIATE(Bfloat16, Bfloat16)
#undef TILEFOLD_INSTANTIATE

namespace {

RowBox rowBoxOf(const CopyBox& b) {
  const auto& n = b.n;
  const auto &from = b.sourceStride, &to = b.destinationStride;
  RowBox box{{n[0], n[1], n[2], n[3]}, {from[0], from[1], from[2]}, {to[0], to[1], to[2]}, b.add};
  if (sums(b)) {
    box.extents[0] = 1;
    box.summands = n[0];
    box.summandStride = from[0];
  }
  return box;
}

template <class T>
void copyBox(const Context& context, const CopyBox& b, const T* source, T* destination) {
  copyRows(context, "copyBox", rowBoxOf(b), source, destination);
}

// Any bytes, at any address: elements are floats where all of them are, else bytes.
struct ZeroPart {
  static constexpr const char* name = "zero";
  std::int64_t count, packs;
  void* destination;
  bool floats;

  template <class Values>
  __device__ void operator()(Values zeros, std::int64_t i, const StepOnDevice&) const {
    for (int k = 0; k < zeros.width; ++k) zeros[k] = 0;
    if (floats)
      zeros.store(static_cast<float*>(destination) + i);
    else
      static_cast<unsigned char*>(destination)[i] = 0;
  }
};

SmallLaunch zero(const Zero& z, void* destination) {
  constexpr auto floatBytes = static_cast<std::int64_t>(sizeof(float));
  const bool floats = aligned({destination}, sizeof(float)) && z.bytes % floatBytes == 0;
  const std::int64_t count = floats ? z.bytes / floatBytes : z.bytes, packs = floats && aligned({destination}) ? count / packWidth : 0;
  return smallLaunch(ZeroPart{count, packs, destination, floats}, {{destination, z.bytes}});
}

}  // namespace

bool addsWhole(const CopyBox& box, std::int64_t count) {
  const RowBox longest = merged(rowBoxOf(box));
  return box.add && !box.ofParameters && longest.summands == 1 && longest.extents[3] == count && longest.extents[0] == 1 &&
         longest.extents[1] == 1 && longest.extents[2] == 1;
}

template <class T>
std::unique_ptr<CompiledKernel> compileCopyRows(const Kernel& kernel, const Context& context) {
  using A = Arguments;
  switch (kernel.kind) {
    case KernelKind::copyBox: {
      const auto b = decode<CopyBox>(kernel);
      if (b.ofParameters) return compiled(context, [b](const A& a) { copyBox(a.context, b, a.at(0), a.at(1)); });
      const auto body = [b](const A& a) { copyBox<T>(a.context, b, a.at<T>(0), a.at<T>(1)); };
      return b.add ? compiledWaiting(context, kernel, body) : compiled(context, body);
    }
    case KernelKind::zero:
      return compiledSmall(context, [z = decode<Zero>(kernel)](const A& a) { return zero(z, a.at<void>(0)); });
    default:
      return nullptr;
  }
}
TILEFOLD_COMPILES(compileCopyRows)

}  // namespace tilefold::cuda
