// The kernels of a Program, as staging/kernels/kernels.ts declares them ("npm run generate").
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "../failure.hpp"
#include "../generated/kernels.hpp"
#include "layout.hpp"

namespace tilefold {

// What activations are stored as; with bf16, parameters and what steps take and give are float32.
enum class Precision { float32, float64, bf16 };

constexpr std::int64_t parameterBytes(Precision precision) { return precision == Precision::float64 ? 8 : 4; }
constexpr std::int64_t activationBytes(Precision precision) { return precision == Precision::bf16 ? 2 : parameterBytes(precision); }

constexpr bool isConvolution(KernelKind kind) {
  return kind == KernelKind::convolutionForward || kind == KernelKind::convolutionBackwardData ||
         kind == KernelKind::convolutionBackwardWeights;
}

constexpr bool isLinear(KernelKind kind) {
  return kind == KernelKind::linearForward || kind == KernelKind::linearBackwardData || kind == KernelKind::linearBackwardWeights;
}

enum class Use { read, write, accumulate, scratch, index };

struct OperandInfo {
  const char* name;
  Use use;
  bool optional;  // may stand in space `none`
  bool inPlace;   // what the kernel writes may be exactly where this is
};

struct KernelInfo {
  const char* name;
  std::vector<const char*> fields;
  bool listed;  // the last field is a list, with its length before it
  std::vector<OperandInfo> operands;
};

const std::vector<KernelInfo>& kernelTable();

// One kernel with all its numbers fixed: `fields` in the table's order. Read them with decode<...>
// of kernel_fields.hpp.
struct Kernel {
  KernelKind kind = KernelKind::zero;
  std::vector<double> fields;
};

// How many numbers a kernel of this kind has, of those that follow from `first` on; more than there
// are where it is cut off.
template <class Iterator>
std::size_t numberCount(const KernelInfo& info, Iterator first, Iterator last) {
  const std::size_t count = info.fields.size(), available = static_cast<std::size_t>(last - first);
  if (!info.listed || available < count) return count;
  const double listed = *(first + static_cast<std::ptrdiff_t>(count) - 1);
  return listed >= 0 && listed <= static_cast<double>(available) ? count + static_cast<std::size_t>(listed) : available + 1;
}

inline const KernelInfo& kernelInfo(KernelKind kind) { return kernelTable()[static_cast<std::size_t>(kind)]; }

}  // namespace tilefold
