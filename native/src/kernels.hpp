// The kernels of a Program, in the order of staging/kernels.ts (a kernel's position is its code); a test compares the two tables.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "failure.hpp"
#include "layout.hpp"

namespace tilefold {

// What activations are stored as; with bf16, parameters and what is exchanged are float32.
enum class Precision { float32, float64, bf16 };

constexpr std::int64_t parameterBytes(Precision precision) { return precision == Precision::float64 ? 8 : 4; }
constexpr std::int64_t activationBytes(Precision precision) { return precision == Precision::bf16 ? 2 : parameterBytes(precision); }

enum class KernelKind : int {
  convolutionForward,
  convolutionBackwardData,
  convolutionBackwardWeights,
  reorderWeights,
  reorderActivation,
  rectifierForward,
  rectifierBackward,
  maxPoolForward,
  maxPoolBackward,
  averagePoolForward,
  averagePoolBackward,
  sumPixelsForward,
  sumPixelsBackward,
  linearForward,
  linearBackwardData,
  linearBackwardWeights,
  dropout,
  softmaxCrossEntropyForward,
  softmaxCrossEntropyBackward,
  meanSquaredErrorForward,
  meanSquaredErrorBackward,
  momentsForward,
  momentsOfRunning,
  updateRunning,
  normaliseForward,
  normaliseSums,
  normaliseParameters,
  normaliseBackward,
  addForward,
  copyChannels,
  activationForward,
  activationBackward,
  resizeForward,
  resizeBackward,
  adaptivePoolForward,
  adaptivePoolBackward,
  addBias,
  sumBias,
  pixelCrossEntropyForward,
  pixelCrossEntropyBackward,
  classesOfPixels,
  copyBox,
  gather,
  scatterAdd,
  zero,
  loadImage,
  sgd,
  adam,
  sumSquares,
  clipGradient,
  squareRoot,
  roundWeights
};

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
};

struct KernelInfo {
  const char* name;
  std::vector<const char*> fields;
  std::vector<OperandInfo> operands;
};

const std::vector<KernelInfo>& kernelTable();

// One kernel with all its numbers fixed: `fields` in the table's order. Read them with decode<...> of kernel_fields.hpp.
struct Kernel {
  KernelKind kind = KernelKind::zero;
  std::vector<double> fields;
};

inline const KernelInfo& kernelInfo(KernelKind kind) { return kernelTable()[static_cast<std::size_t>(kind)]; }

}  // namespace tilefold
