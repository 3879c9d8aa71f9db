// What a convolution needs beside its operands.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "../../kernels/kernel_fields.hpp"
#include "../context/context.hpp"
#include "pad.hpp"

namespace tilefold::cuda {

constexpr std::size_t partAlignment = 256;  // bytes

inline std::size_t inParts(std::size_t bytes) { return (bytes + partAlignment - 1) / partAlignment * partAlignment; }

// Where a kernel's parts begin in its scratch.
inline std::byte* aligned(std::byte* scratch) {
  return scratch + (partAlignment - reinterpret_cast<std::uintptr_t>(scratch) % partAlignment) % partAlignment;
}

std::int64_t weightCount(const Convolution& c);
// Of the weights that a product reads, and of the gradient as cuDNN writes it.
std::size_t weightBytes(const Convolution& c, const Context& context);

// Where the parts of a kernel's scratch begin, from its first multiple of 256 bytes on: the copy of
// the source at 0.
struct Scratch {
  // `kind` is one of the three convolutions; a gradient of weights may be float32 where tensors are
  // bf16.
  Scratch(KernelKind kind, const Convolution& c, const Context& context, const std::optional<PadBox>& copy, std::size_t workspace,
          bool writesFloat = false);

  std::size_t gradientAt, workspaceAt, workspaceBytes, bytes;
};

// Whether the gradient of the source is a forward convolution with rotated weights
// (rotated_weights.hpp), and its scratch: the weights, then the forward convolution's.
bool isRotated(KernelKind kind, const Convolution& c);
std::size_t withRotatedWeights(const Convolution& c, const Context& context, std::size_t forwardBytes);

}  // namespace tilefold::cuda
